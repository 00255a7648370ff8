//! Tag words: one byte a slot, eight slots to a word, so that one load looks at eight slots.
//!
//! A tag is empty, dead, or live with seven bits of the key's hash. The searches are the
//! exact-or-conservative zero-byte tests of Mycroft as given in Warren, *Hacker's Delight*,
//! 2nd edition, section 6-1, over little-endian byte order.

/// Slots that share a tag word.
pub(crate) const GROUP: usize = 8;

/// The word of a group in which no slot was ever written: eight tags of zero.
pub(crate) const EMPTY_WORD: u64 = 0;
/// A slot whose entry was taken out. It is not written again in this table: a reader may still
/// be looking at it.
pub(crate) const DEAD: u8 = 0x01;

const LIVE: u8 = 0x80;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The tag of a live slot whose key hashes to `hash`: its top seven bits, marked live. Group
/// numbers use the low bits, so the two are independent.
pub(crate) const fn live_tag(hash: u64) -> u8 {
    (hash >> 57) as u8 | LIVE
}

/// Positions in a word, lowest first.
pub(crate) struct Positions(u64);

impl Iterator for Positions {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let position = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(position)
    }
}

/// Slots that may hold `tag`, which must be a live one: every slot that does, and possibly a slot
/// with the tag `tag ^ 1`. Both are live, so each answer is a slot that was written.
#[inline]
pub(crate) const fn matches(word: u64, tag: u8) -> Positions {
    let difference = word ^ (ONES * tag as u64);
    Positions(difference.wrapping_sub(ONES) & !difference & HIGHS)
}

/// Every live slot.
#[inline]
pub(crate) const fn live(word: u64) -> Positions {
    Positions(word & HIGHS)
}

/// Whether a slot was never written.
#[inline]
pub(crate) const fn has_empty(word: u64) -> bool {
    word.wrapping_sub(ONES) & !word & HIGHS != 0
}

/// The first slot that was never written.
pub(crate) fn first_empty(word: u64) -> Option<usize> {
    // The zero-byte test errs only above the lowest zero byte, so its lowest answer is right.
    Positions(word.wrapping_sub(ONES) & !word & HIGHS).next()
}

/// `word` with the tag at `position` replaced.
pub(crate) const fn with_tag(word: u64, position: usize, tag: u8) -> u64 {
    let shift = position * 8;
    (word & !(0xff << shift)) | ((tag as u64) << shift)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
