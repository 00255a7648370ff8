//! Where is which entry of a bundle?

use ptx_key::{DIGEST_BYTES, Digest};
use ptx_store::{EntryKey, Kind};

use crate::format::LONGEST_NAME;

pub(crate) const MAGIC: [u8; 8] = *b"\x89PTB\r\n\x1a\n";
const VERSION: u16 = 1;
/// Bytes before the name.
pub(crate) const FIXED: usize = 32;
/// Bytes of one entry's line in the index.
pub(crate) const LINE: usize = 48;
/// The most entries of one bundle.
pub const MOST_ENTRIES: u64 = 1 << 22;

/// The bytes around a bundle's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The bundle's name, which becomes the origin of imported entries.
    pub name: String,
    /// Keys with the lengths of their entries, in the order of the keys' bytes, and of the kinds
    /// where those are equal. The entries follow each other in this order.
    pub entries: Vec<(EntryKey, u64)>,
}

impl Index {
    /// The bytes before the first entry, and those behind the last. Returns `None` if the format
    /// cannot hold them.
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

    /// The offset of the index, from the first 32 bytes of a bundle.
    pub(super) fn place(fixed: &[u8; FIXED]) -> Option<u64> {
        let (_, place) = fixed.split_last_chunk()?;
        fixed.starts_with(&MAGIC).then_some(u64::from_le_bytes(*place))
    }

    /// Reads the bytes before the first entry, which more may follow, and those behind the last.
    /// Returns `None` for anything but what [`to_bytes`](Self::to_bytes) gives.
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
        // Every index has one spelling. A reader refuses what no writer writes.
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

/// The order of entries.
pub(crate) fn order(key: &EntryKey) -> (&[u8; DIGEST_BYTES], u8) {
    (key.as_bytes(), kind_number(key.kind()))
}

#[cfg(test)]
mod tests;
