//! How much the store holds, without looking: a running total for each of the directories that
//! entries are spread over.
//!
//! All totals stand in one small file, under one lock that is held for microseconds. A writer that
//! does not get it soon keeps its change for its next write. A process that dies between writing
//! an entry and recording it leaves a total that is off by that entry; trimming a directory counts it
//! anew, without losing what others record meanwhile.

use std::io;
use std::thread;
use std::time::Duration;

use ptx_store::Size;

use crate::format::layout::Layout;
use crate::storage::directories::open_own_file;
use crate::storage::{FileKind, Metadata, Storage, names_in, read_full, write_full};

/// Directories that entries are spread over, by the first byte of the key.
pub(crate) const DIRECTORIES: usize = 256;
/// What files take space in.
pub(crate) const BLOCK: u64 = 4096;
/// As long as a slot, so that no slot lies across two sectors and is torn by a power cut.
const MAGIC: &[u8; SLOT] = b"ptx-disk totals\n";
const SLOT: usize = 16;
const FILE: usize = MAGIC.len() + DIRECTORIES * SLOT;
/// The longest wait for the lock is about the sum of these.
const WAITS: [u64; 6] = [20, 50, 100, 200, 500, 1000];

/// More than any directory holds, in entries or bytes: a file that says so is damaged.
const MOST: i64 = 1 << 56;
/// A directory that nobody has counted may hold something.
const UNKNOWN: Size = Size { entries: 1, bytes: 0 };

/// One file of this length, in whole blocks.
pub(crate) fn size_of_file(length: u64) -> Size {
    Size { entries: 1, bytes: length.div_ceil(BLOCK).saturating_mul(BLOCK) }
}

/// What a file takes. What is no file takes nothing, since it was never counted.
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

/// What the file says of one directory. It is below zero for a moment where an entry was removed
/// before its writer recorded it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    entries: i64,
    bytes: i64,
}

impl Balance {
    /// `None` for what no directory holds, such as the all ones of one that nobody counted.
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

/// Something that happened in one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added(Size),
    Removed(Size),
    /// The directory was counted, while the file said `before`. What others record between the
    /// counting and this stays recorded.
    Counted {
        before: Option<Balance>,
        found: Size,
    },
}

/// The totals as they stand in the file. `None` is a directory that nobody has counted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Totals([Option<Balance>; DIRECTORIES]);

impl Totals {
    /// The sum over the directories that are known.
    pub(crate) fn sum(&self) -> Size {
        sum_of(self.0.iter().flatten().map(|balance| balance.total()))
    }

    /// Directories that hold something, or may; the fullest last.
    pub(crate) fn filled(&self) -> Vec<u8> {
        let directories = (0..=u8::MAX).zip(&self.0);
        let mut filled: Vec<(u8, Size)> = directories
            .map(|(directory, balance)| (directory, balance.map_or(UNKNOWN, Balance::total)))
            .filter(|(_, total)| total.entries > 0 || total.bytes > 0)
            .collect();
        filled.sort_by_key(|(_, total)| total.bytes);
        filled.into_iter().map(|(directory, _)| directory).collect()
    }

    /// Directories that nobody has counted.
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

/// Applies `changes` to the file and gives the totals afterwards; `None` where the lock was not
/// to be had, and nothing changed.
///
/// A directory that was never counted is counted, and each call counts one more of them, so that a
/// store whose file was lost knows itself again after a few hundred writes. One that cannot be
/// listed stays unknown.
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
            // Without locks two writers may lose a change, which counting repairs.
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
            // It is counted below, with all that happened in it.
            (None, _) => None,
        };
    }
    let named = |directory: u8| changes.iter().any(|(named, _)| *named == directory);
    let unknown: Vec<u8> = totals.unknown().collect();
    let others: Vec<u8> = unknown.iter().copied().filter(|directory| !named(*directory)).collect();
    // At random, so that one that cannot be listed keeps no other from being counted.
    let other = fastrand::choice(others);
    for directory in unknown.into_iter().filter(|directory| named(*directory)).chain(other) {
        if let Some(balance) = totals.0.get_mut(usize::from(directory)) {
            *balance = count(storage, layout, directory).ok().map(Balance::from);
        }
    }
    let after = totals.to_bytes();
    if before.len() == after.len() {
        // Only what changed, so that a death in the middle cuts no other directory's total.
        let slots = before.chunks(SLOT).zip(after.chunks(SLOT)).enumerate();
        for (at, (_, new)) in slots.filter(|(_, (old, new))| old != new) {
            write_full(&*file, new, (at * SLOT) as u64)?;
        }
    } else {
        write_full(&*file, &after, 0)?;
    }
    Ok(Some(totals))
}

/// What the file says of one directory, without its lock; `None` where it says nothing.
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
