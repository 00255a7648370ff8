//! How much does a store hold? A running total for each directory of entries answers without
//! listing.
//!
//! One small file has all totals. A writer holds its lock for microseconds. One that does not get
//! the lock soon keeps its change for its next write. A process that dies between publishing and
//! recording leaves a total that is wrong by one entry. A trim counts the directory again and keeps
//! what others record meanwhile.

use std::io;
use std::thread;
use std::time::Duration;

use ptx_store::Size;

use crate::format::layout::Layout;
use crate::storage::directories::open_own_file;
use crate::storage::{FileKind, Metadata, Storage, names_in, read_full, write_full};

/// Directories of entries, one for each first byte of a key.
pub(crate) const DIRECTORIES: usize = 256;
/// The block in which files take space, in bytes.
pub(crate) const BLOCK: u64 = 4096;
/// As long as a slot, so that no slot crosses sectors, which a power cut could tear apart.
const MAGIC: &[u8; SLOT] = b"ptx-disk totals\n";
const SLOT: usize = 16;
const FILE: usize = MAGIC.len() + DIRECTORIES * SLOT;
/// Waits for the lock, in microseconds.
const WAITS: [u64; 6] = [20, 50, 100, 200, 500, 1000];

/// More than any directory holds, in entries or bytes. A file with a larger number is damaged.
const MOST: i64 = 1 << 56;
/// A directory that nobody counted may hold something.
const UNKNOWN: Size = Size { entries: 1, bytes: 0 };

/// One file of this length, in whole blocks.
pub(crate) fn size_of_file(length: u64) -> Size {
    Size { entries: 1, bytes: length.div_ceil(BLOCK).saturating_mul(BLOCK) }
}

/// What a file takes. Anything else takes nothing, since it was never counted.
pub(crate) fn size_of(found: &Metadata) -> Size {
    if found.kind == FileKind::File { size_of_file(found.length) } else { Size::default() }
}

pub(crate) fn sum_of(sizes: impl IntoIterator<Item = Size>) -> Size {
    sizes.into_iter().fold(Size::default(), |sum, one| Size {
        entries: sum.entries.saturating_add(one.entries),
        bytes: sum.bytes.saturating_add(one.bytes),
    })
}

/// `from` without `part`, at least zero.
pub(crate) fn without(from: Size, part: Size) -> Size {
    Size {
        entries: from.entries.saturating_sub(part.entries),
        bytes: from.bytes.saturating_sub(part.bytes),
    }
}

/// The total of one directory. It is below zero for a moment when an entry was removed before its
/// writer recorded it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    entries: i64,
    bytes: i64,
}

impl Balance {
    /// Reads a slot. Returns `None` for impossible numbers, such as the all ones of an uncounted
    /// directory.
    fn read(slot: &[u8; SLOT]) -> Option<Self> {
        let [e0, e1, e2, e3, e4, e5, e6, e7, b0, b1, b2, b3, b4, b5, b6, b7] = *slot;
        let entries = i64::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]);
        let bytes = i64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
        let possible = |number: i64| (-MOST..=MOST).contains(&number);
        let counted = possible(entries) && possible(bytes) && (entries, bytes) != (-1, -1);
        counted.then_some(Self { entries, bytes })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_add(other.entries),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(other.entries),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    fn total(self) -> Size {
        let positive = |number| u64::try_from(number).unwrap_or(0);
        Size { entries: positive(self.entries), bytes: positive(self.bytes) }
    }
}

impl From<Size> for Balance {
    fn from(total: Size) -> Self {
        let signed = |number| i64::try_from(number).unwrap_or(MOST);
        Self { entries: signed(total.entries), bytes: signed(total.bytes) }
    }
}

/// A change in one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added(Size),
    Removed(Size),
    /// The directory was counted, and its total was `before` then. What others record meanwhile
    /// stays recorded.
    Counted {
        before: Option<Balance>,
        found: Size,
    },
}

/// The totals in the file. `None` stands for a directory that nobody counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Totals([Option<Balance>; DIRECTORIES]);

impl Totals {
    /// The sum over all counted directories.
    pub(crate) fn sum(&self) -> Size {
        sum_of(self.0.iter().flatten().map(|balance| balance.total()))
    }

    /// Directories that hold something or may. The fullest is last.
    pub(crate) fn filled(&self) -> Vec<u8> {
        let directories = (0..=u8::MAX).zip(&self.0);
        let mut filled: Vec<(u8, Size)> = directories
            .map(|(directory, balance)| (directory, balance.map_or(UNKNOWN, Balance::total)))
            .filter(|(_, total)| total.entries > 0 || total.bytes > 0)
            .collect();
        filled.sort_by_key(|(_, total)| total.bytes);
        filled.into_iter().map(|(directory, _)| directory).collect()
    }

    /// Directories that nobody counted.
    fn unknown(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX)
            .zip(&self.0)
            .filter(|(_, total)| total.is_none())
            .map(|(directory, _)| directory)
    }

    fn read(bytes: &[u8]) -> Self {
        let mut totals = [None; DIRECTORIES];
        if let Some(slots) = bytes.strip_prefix(MAGIC)
            && bytes.len() == FILE
        {
            for (balance, slot) in totals.iter_mut().zip(slots.as_chunks().0) {
                *balance = Balance::read(slot);
            }
        }
        Self(totals)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for balance in &self.0 {
            let unknown = Balance { entries: -1, bytes: -1 };
            let Balance { entries, bytes: taken } = balance.unwrap_or(unknown);
            bytes.extend(entries.to_le_bytes());
            bytes.extend(taken.to_le_bytes());
        }
        bytes
    }
}

/// Applies `changes` to the file. Returns the totals afterwards, or `None` if another process held
/// the lock and nothing changed.
///
/// Counts the changed directories that nobody counted, and one other. So a store whose file was
/// lost knows all totals after a few hundred writes. A directory that cannot be listed stays
/// uncounted.
///
/// # Errors
///
/// The storage's error.
pub(crate) fn record(
    storage: &dyn Storage,
    layout: &Layout,
    changes: &[(u8, Change)],
) -> io::Result<Option<Totals>> {
    let file = open_own_file(storage, layout, &layout.totals())?;
    for wait in WAITS {
        match file.try_lock() {
            Ok(true) => break,
            // Without locks two writers may lose a change. Counting repairs that.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => break,
            Err(error) => return Err(error),
            Ok(false) if Some(&wait) == WAITS.last() => return Ok(None),
            Ok(false) => thread::sleep(Duration::from_micros(wait)),
        }
    }
    let mut before = vec![0; FILE];
    let length = read_full(&*file, &mut before, 0)?;
    before.truncate(length);
    let mut totals = Totals::read(&before);
    for (directory, change) in changes {
        let Some(balance) = totals.0.get_mut(usize::from(*directory)) else { continue };
        *balance = match (*balance, *change) {
            (Some(known), Change::Counted { before: Some(before), found }) => {
                Some(known.minus(before).plus(found.into()))
            }
            (_, Change::Counted { found, .. }) => Some(found.into()),
            (Some(known), Change::Added(added)) => Some(known.plus(added.into())),
            (Some(known), Change::Removed(removed)) => Some(known.minus(removed.into())),
            // It is counted below, with all changes in it.
            (None, _) => None,
        };
    }
    let named = |directory: u8| changes.iter().any(|(named, _)| *named == directory);
    let unknown: Vec<u8> = totals.unknown().collect();
    let others: Vec<u8> = unknown.iter().copied().filter(|directory| !named(*directory)).collect();
    // At random, so that one that cannot be listed does not block the others.
    let other = fastrand::choice(others);
    for directory in unknown.into_iter().filter(|directory| named(*directory)).chain(other) {
        if let Some(balance) = totals.0.get_mut(usize::from(directory)) {
            *balance = count(storage, layout, directory).ok().map(Balance::from);
        }
    }
    let after = totals.to_bytes();
    if before.len() == after.len() {
        // Only what changed, so that a crash damages no other total.
        let slots = before.chunks(SLOT).zip(after.chunks(SLOT)).enumerate();
        for (at, (_, new)) in slots.filter(|(_, (old, new))| old != new) {
            write_full(&*file, new, (at * SLOT) as u64)?;
        }
    } else {
        write_full(&*file, &after, 0)?;
    }
    Ok(Some(totals))
}

/// The total of one directory, read without the lock. Returns `None` if it is not counted.
pub(crate) fn known(storage: &dyn Storage, layout: &Layout, directory: u8) -> Option<Balance> {
    let file = storage.open_file(&layout.totals()).ok()?;
    let mut bytes = vec![0; FILE];
    let length = read_full(&*file, &mut bytes, 0).ok()?;
    bytes.truncate(length);
    Totals::read(&bytes).0.get(usize::from(directory)).copied().flatten()
}

/// Counts one directory.
fn count(storage: &dyn Storage, layout: &Layout, directory: u8) -> io::Result<Size> {
    let directory = layout.entries(directory);
    let names = names_in(storage, &directory)?;
    let files = names.iter().filter_map(|name| storage.metadata(&directory.join(name)).ok());
    Ok(sum_of(files.map(|file| size_of(&file))))
}

#[cfg(test)]
mod tests;
