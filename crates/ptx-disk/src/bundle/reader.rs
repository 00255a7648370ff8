//! How is a bundle read in place?

use std::path::{Path, PathBuf};

use ptx_key::DIGEST_BYTES;
use ptx_store::{Artifact, ArtifactKey, EntryKey};

use super::index::{FIXED, Index, LINE, MAGIC, MOST_ENTRIES, order};
use crate::error::OnPath as _;
use crate::format::{LONGEST_HEADER, LONGEST_NAME, LONGEST_PAYLOAD, Unreadable};
use crate::read::entry_file::EntryFile;
use crate::storage::{FileKind, OsStorage, Storage, StorageFile, read_full};
use crate::{DiskError, Verified};

/// An open bundle. Its index is in memory. Its entries stay in the file, which nothing changes.
pub struct Bundle {
    file: Box<dyn StorageFile>,
    path: PathBuf,
    name: String,
    /// Sorted: key, offset, length.
    entries: Vec<(EntryKey, u64, u64)>,
}

impl Bundle {
    /// Opens a bundle on the machine's file system. Follows links, the last one too, since the path
    /// is the caller's.
    ///
    /// # Errors
    ///
    /// [`DiskError::NotABundle`], or [`DiskError::Storage`] if it cannot be read.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let path = std::fs::canonicalize(path).on("find", path)?;
        Self::open_on(&OsStorage::new(), &path)
    }

    /// Opens a bundle on another storage.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_on(storage: &dyn Storage, path: &Path) -> Result<Self, DiskError> {
        let not_a_bundle = || DiskError::NotABundle { path: path.to_owned() };
        let file = storage.open_file(path).on("open", path)?;
        let metadata = file.metadata().on("read the metadata of", path)?;
        if metadata.kind != FileKind::File {
            return Err(not_a_bundle());
        }
        let mut head = vec![0; FIXED + LONGEST_NAME];
        let count = read_full(&*file, &mut head, 0).on("read", path)?;
        head.truncate(count);
        let place = head.first_chunk().and_then(Index::place).ok_or_else(not_a_bundle)?;
        let longest = MOST_ENTRIES * LINE as u64 + DIGEST_BYTES as u64;
        let length = metadata.length.checked_sub(place).filter(|length| *length <= longest);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let mut tail = vec![0; length.ok_or_else(not_a_bundle)?];
        let count = read_full(&*file, &mut tail, place).on("read", path)?;
        tail.truncate(count);
        let Index { name, entries } = Index::read(&head, &tail).ok_or_else(not_a_bundle)?;
        let mut offset = (FIXED + name.len()) as u64;
        let placed = entries.into_iter().map(|(key, length)| {
            let at = offset;
            offset = offset.saturating_add(length);
            (key, at, length)
        });
        let entries = placed.collect();
        Ok(Self { file, path: path.to_owned(), name, entries })
    }

    /// Returns true if a file that starts with `bytes` was written as a bundle, whole or not.
    pub fn is_start(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// The bundle's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys of its entries, in the order of their bytes.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &EntryKey> {
        self.entries.iter().map(|(key, ..)| key)
    }

    /// Loads the artifact of `key`. Returns `None` if the bundle has none that this release reads.
    ///
    /// # Errors
    ///
    /// [`DiskError::Damaged`] for a damaged entry, which stays, and [`DiskError::Storage`] if the
    /// file cannot be read.
    pub fn load<K: ArtifactKey>(&self, key: &K) -> Result<Option<Artifact<K::Payload>>, DiskError> {
        let key: EntryKey = (*key).into();
        let damaged = |damage| DiskError::Damaged { path: self.path.clone(), key, damage };
        match self.stored(&key, LONGEST_PAYLOAD) {
            Ok(Some(stored)) => stored.artifact::<K>().map_err(damaged),
            Ok(None) | Err(Missing::Newer) => Ok(None),
            Err(Missing::Damaged(damage)) => Err(damaged(damage)),
            Err(Missing::Failed(error)) => Err(error),
        }
    }

    /// Reads every entry and checks all that can be checked.
    pub fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        for key in self.keys() {
            let checked = match self.stored(key, LONGEST_PAYLOAD) {
                Ok(Some(stored)) => stored.verify(),
                Ok(None) => continue,
                Err(Missing::Newer) => Err(Unreadable::Newer),
                Err(Missing::Damaged(damage)) => Err(damage.into()),
                Err(Missing::Failed(_)) => {
                    verified.unreadable += 1;
                    continue;
                }
            };
            match checked {
                Ok(()) => verified.whole += 1,
                Err(Unreadable::Newer) => verified.left_alone += 1,
                Err(Unreadable::Damaged(_)) => verified.damaged += 1,
            }
        }
        verified
    }

    /// Reads and checks the file of an entry.
    pub(crate) fn stored(
        &self,
        key: &EntryKey,
        most_bytes: u64,
    ) -> Result<Option<EntryFile>, Missing> {
        let found = self.entries.binary_search_by(|(other, ..)| order(other).cmp(&order(key)));
        let Some((_, offset, length)) = found.ok().and_then(|at| self.entries.get(at)) else {
            return Ok(None);
        };
        if *length > most_bytes.saturating_add(LONGEST_HEADER as u64) {
            return Err(Missing::Newer);
        }
        let mut bytes = vec![0; usize::try_from(*length).map_err(|_| Missing::Newer)?];
        let count = read_full(&*self.file, &mut bytes, *offset)
            .on("read", &self.path)
            .map_err(Missing::Failed)?;
        bytes.truncate(count);
        match EntryFile::check(bytes, key, most_bytes) {
            Ok(stored) => Ok(Some(stored)),
            Err(Unreadable::Newer) => Err(Missing::Newer),
            Err(Unreadable::Damaged(damage)) => Err(Missing::Damaged(damage)),
        }
    }
}

/// Why an entry of the index cannot be used.
pub(crate) enum Missing {
    Newer,
    Damaged(crate::Damage),
    Failed(DiskError),
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle")
            .field("path", &self.path)
            .field("name", &self.name)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}
