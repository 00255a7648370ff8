//! Many entries in one file that is read in place: shipped with an application, or carried from
//! one machine to another. `FORMAT.md` beside this crate is the specification.

use std::path::{Path, PathBuf};

use ptx_key::{DIGEST_BYTES, Digest};
use ptx_store::{Artifact, ArtifactKey, EntryKey, Kind};

use crate::error::OnPath as _;
use crate::format::{LONGEST_HEADER, LONGEST_NAME, LONGEST_PAYLOAD, Unreadable};
use crate::read::EntryFile;
use crate::storage::{FileKind, OsStorage, Storage, StorageFile, read_full};
use crate::{DiskError, Verified};

pub(crate) const MAGIC: [u8; 8] = *b"\x89PTB\r\n\x1a\n";
const VERSION: u16 = 1;
/// Bytes before the name.
pub(crate) const FIXED: usize = 32;
/// Bytes of one entry's line in the index.
pub(crate) const LINE: usize = 48;
/// The most entries of one bundle.
pub const MOST_ENTRIES: u64 = 1 << 22;

/// What stands around a bundle's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The bundle's name, which imported entries remember.
    pub name: String,
    /// Keys with the lengths of their entries' files, in the order in which these follow each
    /// other: that of the keys' bytes, and of the kinds where the bytes are equal.
    pub entries: Vec<(EntryKey, u64)>,
}

impl Index {
    /// The bytes before the first entry, and those behind the last. `None` where they cannot be
    /// said in this format.
    pub fn to_bytes(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let count = self.entries.len() as u64;
        let in_order = self.entries.is_sorted_by(|(a, _), (b, _)| order(a) < order(b));
        if self.name.len() > LONGEST_NAME || count > MOST_ENTRIES || !in_order {
            return None;
        }
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend(u16::try_from(self.name.len()).ok()?.to_le_bytes());
        head.extend([0; 4]);
        head.extend(count.to_le_bytes());
        let first = (FIXED + self.name.len()) as u64;
        let entries = self.entries.iter().map(|(_, length)| *length);
        let behind = entries.into_iter().try_fold(first, u64::checked_add)?;
        head.extend(behind.to_le_bytes());
        head.extend(self.name.as_bytes());
        let mut tail = Vec::with_capacity(self.entries.len() * LINE + DIGEST_BYTES);
        for (key, length) in &self.entries {
            tail.extend(key.as_bytes());
            tail.extend(length.to_le_bytes());
            tail.push(kind_number(key.kind()));
            tail.extend([0; 7]);
        }
        let digest = Digest::of_bytes(&[head.as_slice(), &tail].concat());
        tail.extend(digest.as_bytes());
        Some((head, tail))
    }

    /// Where the index begins, from the first 32 bytes of a bundle.
    fn place(fixed: &[u8; FIXED]) -> Option<u64> {
        let (_, place) = fixed.split_last_chunk()?;
        fixed.starts_with(&MAGIC).then_some(u64::from_le_bytes(*place))
    }

    /// Reads the bytes before the first entry (more of them may follow) and those behind the
    /// last. `None` on anything but what [`to_bytes`](Self::to_bytes) gives.
    pub fn read(head: &[u8], tail: &[u8]) -> Option<Self> {
        let [.., m0, m1, _, _, _, _, c0, c1, c2, c3, c4, c5, c6, c7, _, _, _, _, _, _, _, _] =
            *head.first_chunk::<FIXED>()?;
        let name_length = usize::from(u16::from_le_bytes([m0, m1]));
        let count = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
        let name = std::str::from_utf8(head.get(FIXED..FIXED.checked_add(name_length)?)?).ok()?;
        let (lines, _digest) = tail.split_last_chunk::<DIGEST_BYTES>()?;
        let (lines, rest) = lines.as_chunks::<LINE>();
        if lines.len() as u64 != count || !rest.is_empty() {
            return None;
        }
        let line = |line: &[u8; LINE]| {
            let (key, rest) = line.split_first_chunk::<DIGEST_BYTES>()?;
            let (length, rest) = rest.split_first_chunk()?;
            let kind = match rest.first()? {
                1 => Kind::Ptx,
                2 => Kind::Cubin,
                _ => return None,
            };
            Some((EntryKey::from_bytes(kind, *key), u64::from_le_bytes(*length)))
        };
        let entries = lines.iter().map(line).collect::<Option<Vec<_>>>()?;
        let index = Self { name: name.to_owned(), entries };
        // One spelling, so what the writer would not write, digest included, is not read.
        let (expected_head, expected_tail) = index.to_bytes()?;
        (head.starts_with(&expected_head) && tail == expected_tail).then_some(index)
    }
}

fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::Ptx => 1,
        Kind::Cubin => 2,
    }
}

/// What entries are sorted by.
pub(crate) fn order(key: &EntryKey) -> (&[u8; DIGEST_BYTES], u8) {
    (key.as_bytes(), kind_number(key.kind()))
}

/// An open bundle. Its index is in memory, its entries stay in the file, which nothing changes.
pub struct Bundle {
    file: Box<dyn StorageFile>,
    path: PathBuf,
    name: String,
    /// Sorted: key, offset, length.
    entries: Vec<(EntryKey, u64, u64)>,
}

impl Bundle {
    /// Opens a bundle on the machine's file system. The path is the caller's, so that links on
    /// it are followed, the last one too.
    ///
    /// # Errors
    ///
    /// [`DiskError::NotABundle`], or [`DiskError::Storage`] where it cannot be read.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let path = std::fs::canonicalize(path).on("find", path)?;
        Self::open_on(&OsStorage::new(), &path)
    }

    /// Opens a bundle on some other storage.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_on(storage: &dyn Storage, path: &Path) -> Result<Self, DiskError> {
        let not_a_bundle = || DiskError::NotABundle { path: path.to_owned() };
        let file = storage.open_file(path).on("open", path)?;
        let metadata = file.metadata().on("look at", path)?;
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

    /// The bundle's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys of its entries, in the order of their bytes.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &EntryKey> {
        self.entries.iter().map(|(key, ..)| key)
    }

    /// Loads the artifact of `key`. Returns `None` where the bundle has none that this release
    /// reads.
    ///
    /// # Errors
    ///
    /// [`DiskError::Damaged`] for a damaged entry, which stays: a bundle is not repaired. Also
    /// where the file cannot be read.
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

    /// The checked file of an entry.
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

/// Why an entry that the index names cannot be had.
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

#[cfg(test)]
mod tests;
