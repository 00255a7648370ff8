//! A store to do harm to, and what it says that the trait leaves out.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_disk::storage::Storage;
use ptx_disk::{
    Artifact, Attributes, Compression, Config, Damage, DiskError, DiskStore, PtxArtifact, Store,
    StoreError, Stored, Times, Warning,
};
use ptx_key::{Digest, PtxKey};
use ptx_store::ArtifactKey;

/// A key whose first byte, and so its directory, is `number`'s lowest.
pub(crate) fn key(number: u32) -> PtxKey {
    let mut bytes = *Digest::of_bytes(&number.to_le_bytes()).as_bytes();
    bytes[0] = number.to_le_bytes()[0];
    PtxKey::from_bytes(bytes)
}

/// Text that says which key it belongs to.
pub(crate) fn text(number: u32) -> String {
    let line = format!("// kernel {number}\n.visible .entry kernel_{number}() {{ ret; }}\n");
    format!(".version 8.0\n.target sm_90a\n{}", line.repeat(8))
}

pub(crate) fn entry(number: u32) -> PtxArtifact {
    let mut entry = Artifact::from(text(number)).with_cost(Duration::from_millis(12));
    entry.attributes.set(Attributes::KERNEL, format!("kernel_{number}"));
    entry
}

/// An artifact that came from a bundle.
pub(crate) fn imported() -> PtxArtifact {
    let mut imported = Artifact::from("imported");
    imported.attributes.set(Attributes::ORIGIN, "a bundle");
    imported
}

/// What a write did, with the details that the store's statistics have.
#[derive(Debug)]
pub(crate) enum Write {
    Published,
    PublishedOverImported,
    AlreadyThere,
    Conflicting,
    KeptNewer,
    /// The store is off or read-only.
    Skipped,
    /// An earlier failure turned writing off.
    Refused,
    Failed(DiskError),
}

/// What a load found, with the details that the store's warnings have.
#[derive(Debug)]
pub(crate) enum Read<A> {
    Hit(A),
    Miss,
    Damaged(Damage),
    Failed(DiskError),
}

impl<A> Read<A> {
    pub(crate) fn hit(self) -> Option<A> {
        match self {
            Self::Hit(found) => Some(found),
            _ => None,
        }
    }
}

thread_local! {
    /// The damage that this thread was warned of last.
    static DAMAGE: Cell<Option<Damage>> = const { Cell::new(None) };
}

/// Loads and writes with details. Only one thread at a time may write to one store.
pub(crate) trait Details {
    fn write<K: ArtifactKey>(&self, key: &K, artifact: &Artifact<K::Payload>) -> Write;
    fn read<K: ArtifactKey>(&self, key: &K) -> Read<Artifact<K::Payload>>;
}

impl Details for DiskStore {
    fn write<K: ArtifactKey>(&self, key: &K, artifact: &Artifact<K::Payload>) -> Write {
        let before = self.statistics();
        let stored = self.store(key, artifact);
        let after = self.statistics();
        match stored.map_err(disk_error) {
            Ok(Stored::Written) if after.replaced_imported > before.replaced_imported => {
                Write::PublishedOverImported
            }
            Ok(Stored::Written) => {
                assert_eq!(after.published, before.published + 1);
                Write::Published
            }
            Ok(Stored::Present) if after.conflicting > before.conflicting => Write::Conflicting,
            Ok(Stored::Present) if after.left_alone > before.left_alone => Write::KeptNewer,
            Ok(Stored::Present) => {
                assert_eq!(after.already_there, before.already_there + 1);
                Write::AlreadyThere
            }
            Ok(Stored::Skipped) => Write::Skipped,
            Err(DiskError::Degraded { .. }) if after.refused > before.refused => Write::Refused,
            Err(error) => Write::Failed(error),
        }
    }

    fn read<K: ArtifactKey>(&self, key: &K) -> Read<Artifact<K::Payload>> {
        DAMAGE.set(None);
        match self.load(key).map_err(disk_error) {
            Ok(Some(found)) => Read::Hit(found),
            Ok(None) => DAMAGE.take().map_or(Read::Miss, Read::Damaged),
            Err(error) => Read::Failed(error),
        }
    }
}

fn disk_error(error: StoreError) -> DiskError {
    *error.downcast().unwrap_or_else(|other| panic!("no error of the store: {other}"))
}

/// The text that a load gave. A text of another key ends the test.
pub(crate) fn loaded(store: &DiskStore, number: u32) -> Option<String> {
    let found = store.load(&key(number)).ok()??.payload;
    assert_eq!(*found, *text(number), "wrong text for {number}");
    Some(found.to_string())
}

pub(crate) fn damage_of<A>(read: &Read<A>) -> Option<String> {
    match read {
        Read::Damaged(damage) => Some(damage.to_string()),
        Read::Hit(_) => panic!("a load gave a damaged entry"),
        _ => None,
    }
}

/// Where a store keeps an entry, as `FORMAT.md` says.
pub(crate) fn path_of(root: &Path, number: u32) -> PathBuf {
    let key = key(number).to_string();
    root.join("entries-1").join(&key[..2]).join(format!("{key}.ptx-entry"))
}

/// A configuration that collects its warnings, and retries at once after a failure.
pub(crate) fn config(root: &Path) -> (Config, Arc<Mutex<Vec<String>>>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&warnings);
    let config = Config {
        times: Times { first_pause: Duration::ZERO, ..Times::STANDARD },
        on_warning: Some(Arc::new(move |warning| {
            if let Warning::Damaged { damage, .. } = warning {
                DAMAGE.set(Some(*damage));
            }
            kept.lock().unwrap().push(warning.to_string());
        })),
        ..Config::new(root)
    };
    (config, warnings)
}

pub(crate) fn store_on(storage: impl Storage) -> DiskStore {
    let (config, _) = config(Path::new("/store"));
    DiskStore::open_on(Arc::new(storage), config).unwrap()
}

/// A store on the machine's file system, gone with the directory.
pub(crate) fn store() -> (DiskStore, tempfile::TempDir) {
    store_with(Compression::default())
}

pub(crate) fn store_with(compression: Compression) -> (DiskStore, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let (config, _) = config(&directory.path().join("store"));
    let store = DiskStore::open(Config { compression, ..config }).unwrap();
    (store, directory)
}
