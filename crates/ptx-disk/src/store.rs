//! What does a store do, and what does it count?

mod failure;
mod gate;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ptx_store::{Artifact, ArtifactKey, Claim, EntryKey, Store, StoreError, Stored};

use crate::config::{Config, Warning};
use crate::error::OnPath as _;
use crate::format::layout::{Layout, directory_of};
use crate::read::entry_file::{Found, Opened, read};
use crate::read::layer::Layer;
use crate::statistics::{Counters, Statistics};
use crate::storage::directories::{is_store, prepare_root};
use crate::storage::{OsStorage, Storage, is_gone};
use crate::upkeep::totals::{Change, record, size_of};
use crate::{DiskError, Durability, Mode};
use gate::Gate;

/// Failures in a row that leave reading on. A file that cannot be read says little about the
/// others, while a failed write predicts that the next fails too.
const TOLERATED_READ_FAILURES: u32 = 2;
/// Attempts to record pending changes when a store closes. Each takes about two milliseconds.
const LAST_ATTEMPTS: u32 = 20;
/// The shortest time between two notes that an entry is in use.
const USE_NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// A directory of entries that many processes share.
///
/// Any thread and any number of processes may call every method at once. Load, store, remove and
/// claim are methods of [`Store`].
pub struct DiskStore {
    /// `None` if the store keeps nothing.
    pub(crate) open: Option<Open>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) config: Config,
    pub(crate) counters: Counters,
}

pub(crate) struct Open {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) layout: Layout,
    pub(crate) reading: Gate,
    pub(crate) writing: Gate,
    pub(crate) writes: AtomicU64,
    /// True once a lock showed that the file system has none.
    pub(crate) lockless: AtomicBool,
    /// Changes to the totals that wait for the next write, because another process held the lock.
    pub(crate) pending: Mutex<Vec<(u8, Change)>>,
}

impl Open {
    pub(crate) fn pending(&self) -> MutexGuard<'_, Vec<(u8, Change)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A trim counts the directory, and with it what cannot be recorded now.
        let _ = (0..LAST_ATTEMPTS)
            .take_while(|_| !pending.is_empty())
            .find(|_| !matches!(record(&*self.storage, &self.layout, pending), Ok(None)));
    }
}

impl DiskStore {
    /// Opens a store on the machine's file system. Lists and reads nothing, and creates the
    /// directory if it is missing.
    ///
    /// # Errors
    ///
    /// [`DiskError::NotADirectory`], [`DiskError::OwnedByAnother`] or [`DiskError::WritableByAll`]
    /// if the directory must not be used, and [`DiskError::BadSetting`] for a relative path. A
    /// directory that cannot be created or reached is no error: the store warns, keeps nothing, and
    /// retries later.
    pub fn open(config: Config) -> Result<Self, DiskError> {
        let storage = if config.shared { OsStorage::for_group() } else { OsStorage::new() };
        let mut config = config;
        for layer in &mut config.layers {
            // The path is the caller's. Opening the layer reports one that leads nowhere.
            *layer = std::fs::canonicalize(&*layer).unwrap_or_else(|_| layer.clone());
        }
        Self::open_on(Arc::new(storage), config)
    }

    /// Returns true if a store is in the directory `root`: entries, or the tag that a store leaves
    /// in a directory that it creates. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`DiskError::Storage`] if the file system does not say.
    pub fn exists(root: &Path) -> Result<bool, DiskError> {
        is_store(&OsStorage::new(), &Layout::new(root.to_owned()))
    }

    /// Opens a store on another storage.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_on(storage: Arc<dyn Storage>, config: Config) -> Result<Self, DiskError> {
        let mut store =
            Self { open: None, layers: Vec::new(), config, counters: Counters::default() };
        let config = &store.config;
        if config.mode == Mode::Off {
            return Ok(store);
        }
        for path in &config.layers {
            match Layer::open(&storage, path) {
                Ok(layer) => store.layers.push(layer),
                Err(error) => config.warn(&Warning::LayerUnusable { error }),
            }
        }
        let root = match &config.root {
            Some(root) if root.is_absolute() => root.clone(),
            Some(root) => {
                let value = root.to_string_lossy().into_owned();
                let expected = "give an absolute path";
                return Err(DiskError::BadSetting { name: "root", value, expected });
            }
            None => {
                config.warn(&Warning::NoLocation);
                return Ok(store);
            }
        };
        let open = Open {
            storage,
            layout: Layout::new(root.clone()),
            reading: Gate::new(TOLERATED_READ_FAILURES, config.times().first_pause),
            writing: Gate::new(0, config.times().first_pause),
            writes: AtomicU64::new(0),
            lockless: AtomicBool::new(false),
            pending: Mutex::default(),
        };
        let create = config.mode == Mode::ReadWrite;
        let prepared = prepare_root(&*open.storage, &open.layout, create, config.shared);
        if create && config.durability == Durability::Full {
            // The directories above may be as new as the store. Other users' directories existed
            // before.
            for above in root.ancestors().skip(1) {
                let _ = open.storage.sync_directory(above);
            }
        }
        if let Ok(facts) = open.storage.file_system(&root)
            && let Some(kind) = facts.network
        {
            config.warn(&Warning::NetworkFileSystem { root, kind });
        }
        store.open = Some(open);
        match prepared {
            Err(error @ DiskError::Storage { .. }) => store.write_failed(&error, false),
            other => other?,
        }
        Ok(store)
    }

    /// Loads the artifact of `key` from the store's own directory, or else from a layer.
    fn load_any<K: ArtifactKey>(&self, key: &K) -> Result<Option<Artifact<K::Payload>>, DiskError> {
        let own = match &self.open {
            Some(open) => self.load_own(open, key),
            None => Ok(None),
        };
        if let Ok(Some(_)) = own {
            self.counters.hits.add();
            return own;
        }
        let most_bytes = self.config.most_entry_bytes;
        let below = self.layers.iter().find_map(|layer| layer.load(key, most_bytes));
        if below.is_some() {
            self.counters.hits.add();
            self.counters.layer_hits.add();
            return Ok(below);
        }
        self.counters.misses.add();
        own
    }

    pub(crate) fn load_own<K: ArtifactKey>(
        &self,
        open: &Open,
        key: &K,
    ) -> Result<Option<Artifact<K::Payload>>, DiskError> {
        if !open.reading.permits(Instant::now) {
            self.counters.refused.add();
            return Ok(None);
        }
        let key: EntryKey = (*key).into();
        let path = open.layout.entry(&key);
        let found = read(&*open.storage, &path, &key, self.config.most_entry_bytes);
        let found = found.map_err(|error| self.read_failed(open, error))?;
        open.reading.succeeded();
        let (damage, metadata) = match found {
            Found::Nothing => return Ok(None),
            Found::Damaged(damage, metadata) => (damage, metadata),
            Found::NotReadable => {
                self.counters.left_alone.add();
                return Ok(None);
            }
            Found::Whole(stored, opened) => match stored.artifact::<K>() {
                Ok(Some(artifact)) => {
                    self.note_use(&opened);
                    return Ok(Some(artifact));
                }
                Ok(None) => {
                    self.counters.left_alone.add();
                    return Ok(None);
                }
                Err(damage) => (damage, opened.metadata),
            },
        };
        self.quarantine(open, &key, damage, &metadata);
        Ok(None)
    }

    /// Notes in the file's time of last change that an entry was used, at most once an hour. A trim
    /// sees what is in use, and nearly all loads write nothing.
    fn note_use(&self, opened: &Opened) {
        if self.config.mode != Mode::ReadWrite {
            return;
        }
        let now = SystemTime::now();
        // A time in the future says as little as one long ago.
        let since = now.duration_since(opened.metadata.modified);
        if since.unwrap_or_else(|ahead| ahead.duration()) >= USE_NOTED_EVERY {
            // Without the note the entry looks unused.
            let _ = opened.file.set_modified(now);
        }
    }

    fn remove_own(&self, key: EntryKey) -> Result<bool, DiskError> {
        let Some(open) = self.writable() else {
            return Ok(false);
        };
        let path = open.layout.entry(&key);
        // Looked at first, for its size: what appears in between belongs to a later writer.
        let found = open.storage.metadata(&path);
        let removed = found.and_then(|found| open.storage.remove_file(&path).map(|()| found));
        match removed {
            Ok(found) => {
                self.account(open, directory_of(&key), &[Change::Removed(size_of(&found))]);
                self.counters.removed.add();
                Ok(true)
            }
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => {
                self.counters.write_failures.add();
                Err(error).on("remove", &path)
            }
        }
    }

    /// What this process did with the store since it opened it.
    pub fn statistics(&self) -> Statistics {
        self.counters.snapshot()
    }

    /// Returns true if the store keeps what it is given: it is on, not read-only, and the file
    /// system has not turned its writes off.
    pub fn is_writable(&self) -> bool {
        self.writable().is_some_and(|open| open.writing.is_open(Instant::now))
    }

    /// The open part of the store, if it may write.
    pub(crate) fn writable(&self) -> Option<&Open> {
        self.open.as_ref().filter(|_| self.config.mode == Mode::ReadWrite)
    }

    /// The store's directory. Returns `None` if the store keeps nothing.
    pub fn root(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.layout.root())
    }
}

impl<K: ArtifactKey> Store<K> for DiskStore {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's own signature")]
    fn name(&self) -> &str {
        "disk"
    }

    /// Loads the artifact of `key`, from the store's own directory or else from a layer.
    ///
    /// Takes no lock and lists nothing. Writes nothing unless the file is damaged, except for a
    /// new time of last change once an hour. A damaged file is quarantined and is a miss.
    ///
    /// # Errors
    ///
    /// [`DiskError::Storage`] if the file system fails.
    fn load(&self, key: &K) -> Result<Option<Artifact<K::Payload>>, StoreError> {
        Ok(self.load_any(key)?)
    }

    /// Keeps `artifact` under `key`, unless an entry is there already.
    ///
    /// An entry of other content stays, with a [`Warning::Conflict`], unless it was imported and
    /// `artifact` was not.
    ///
    /// # Errors
    ///
    /// A [`DiskError`] if the entry is not kept, or may not survive what the store's [`Durability`]
    /// promises.
    fn store(&self, key: &K, artifact: &Artifact<K::Payload>) -> Result<Stored, StoreError> {
        Ok(self.keep(key, artifact)?)
    }

    /// Removes the entry of `key` from the store's own directory. Returns true if it was present.
    ///
    /// # Errors
    ///
    /// [`DiskError::Storage`] if the file system fails. A read-only store removes nothing, which is
    /// no error.
    fn remove(&self, key: &K) -> Result<bool, StoreError> {
        Ok(self.remove_own((*key).into())?)
    }

    /// Claims `key`, so that other threads and processes wait. Blocks while another holds the
    /// claim, at most [`Config::longest_claim_wait`]. When the holder dies, a waiter takes over
    /// at once.
    ///
    /// # Errors
    ///
    /// [`DiskError::Storage`] if the file system fails.
    fn claim(&self, key: &K) -> Result<Claim<K>, StoreError> {
        Ok(self.claim_key(key)?)
    }

    fn is_writable(&self) -> bool {
        DiskStore::is_writable(self)
    }

    fn quarantined(&self) -> u64 {
        self.counters.quarantined.get()
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore")
            .field("config", &self.config)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
