//! What is remembered of entries that were retired: a word each, in a table of fixed size.

use std::sync::OnceLock;

use super::usage::Usage;
use crate::sync::{AtomicU64, Ordering};

/// Words that are remembered, of eight bytes each: 128 KiB.
const SLOTS: usize = if cfg!(loom) { 4 } else { 1 << 14 };

/// The uses of retired entries, so that one that comes back goes on from there. Two that share a
/// place forget the older; two that share place and check, one in 2^32, take each other's.
///
/// Allocated when the first entry is retired.
#[derive(Debug, Default)]
pub(crate) struct Ghosts(OnceLock<Box<[AtomicU64]>>);

impl Ghosts {
    /// Remembers `word` of the entry that has `hash`.
    pub(crate) fn remember(&self, hash: u64, word: u32) {
        let slots = self.0.get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        if let Some(slot) = slots.get(place(hash)) {
            // Relaxed: an estimate that publishes nothing else.
            slot.store(check(hash) | u64::from(word), Ordering::Relaxed);
        }
    }

    /// The usage of an entry that is inserted at `tick`.
    pub(crate) fn recall(&self, hash: u64, tick: u32) -> Usage {
        let slot = self.0.get().and_then(|slots| slots.get(place(hash)));
        let packed = slot.map_or(0, |slot| slot.load(Ordering::Relaxed));
        #[expect(clippy::cast_possible_truncation, reason = "the word is the lower half")]
        if packed != 0 && packed >> 32 << 32 == check(hash) {
            Usage::again(packed as u32, tick)
        } else {
            Usage::once(tick)
        }
    }
}

fn check(hash: u64) -> u64 {
    hash >> 32 << 32
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are taken")]
fn place(hash: u64) -> usize {
    hash as usize & (SLOTS - 1)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
