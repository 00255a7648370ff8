//! One entry as it lies in a table: key, value and what retention asks of it, in one cache line
//! for the 32-byte keys and fat pointers of the PTX cache.

use std::time::Duration;

use crate::sync::{AtomicU32, Ordering};

/// How many uses within one tick are told apart. Later ones change nothing and write nothing.
pub(crate) const MOST_USES: u32 = 0xff;

const USES_BITS: u32 = 8;
const TICK_MASK: u32 = u32::MAX >> USES_BITS;

/// An entry. Written once, before it is published; only `usage` changes afterwards.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Slot<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
    pub(crate) usage: Usage,
    /// Variants of one program share it.
    pub(crate) family: u32,
    /// What making the value took, in microseconds, at most 71 minutes.
    cost_micros: u32,
    /// Seconds from the cache's start to this entry's.
    pub(crate) born_seconds: u32,
}

impl<K, V> Slot<K, V> {
    pub(crate) fn new(key: K, value: V, about: About, tick: u32) -> Self {
        let cost_micros = u32::try_from(about.cost.as_micros()).unwrap_or(u32::MAX);
        Self {
            key,
            value,
            usage: Usage::once(tick),
            family: about.family,
            cost_micros,
            born_seconds: about.born_seconds,
        }
    }

    /// The same entry for another table, around the same value.
    pub(crate) fn moved(&self, value: V) -> Self
    where
        K: Copy,
    {
        Self { value, usage: self.usage.copy(), ..*self }
    }

    pub(crate) fn cost(&self) -> Duration {
        Duration::from_micros(self.cost_micros.into())
    }
}

/// What is known of an entry beside key and value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) cost: Duration,
    pub(crate) family: u32,
    pub(crate) born_seconds: u32,
}

/// How often and how lately an entry was used, in one word: a use count that halves with each
/// tick, and the tick of the last use.
///
/// A tick is a number of insertions, not a time: with no insertion nothing has to be chosen, no
/// tick passes, and an entry whose count is full is read without being written. Counts are
/// estimates: two threads that use an entry at once may count as one use.
#[derive(Debug)]
pub(crate) struct Usage(AtomicU32);

impl Usage {
    fn once(tick: u32) -> Self {
        Self(AtomicU32::new(pack(1, tick)))
    }

    /// Counts one use at `tick`. Writes only if that changes something.
    #[inline]
    pub(crate) fn record(&self, tick: u32) {
        // Relaxed: an estimate that publishes nothing else.
        let word = self.0.load(Ordering::Relaxed);
        if word >> USES_BITS != tick & TICK_MASK {
            self.0.store(pack(decayed(word, tick).saturating_add(1), tick), Ordering::Relaxed);
        } else if word & MOST_USES != MOST_USES {
            self.0.store(word + 1, Ordering::Relaxed);
        }
    }

    /// Uses, halved for each tick since the last one, and the number of those ticks.
    pub(crate) fn at(&self, tick: u32) -> (f64, u32) {
        let word = self.0.load(Ordering::Relaxed);
        let idle = idle_ticks(word, tick);
        let halvings = i32::try_from(idle).unwrap_or(i32::MAX);
        (f64::from(word & MOST_USES) * 0.5_f64.powi(halvings), idle)
    }

    /// A copy for the table that takes this one's place.
    fn copy(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

const fn pack(uses: u32, tick: u32) -> u32 {
    (tick & TICK_MASK) << USES_BITS | if uses < MOST_USES { uses } else { MOST_USES }
}

/// Ticks wrap around after 2^24; an entry idle for longer looks younger than it is.
const fn idle_ticks(word: u32, tick: u32) -> u32 {
    tick.wrapping_sub(word >> USES_BITS) & TICK_MASK
}

fn decayed(word: u32, tick: u32) -> u32 {
    (word & MOST_USES).checked_shr(idle_ticks(word, tick)).unwrap_or(0)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn an_entry_of_the_ptx_cache_fills_one_cache_line() {
        assert_eq!(size_of::<Slot<ptx_key::PtxKey, Arc<str>>>(), 64);
    }

    #[test]
    fn uses_count_up_to_the_cap_and_then_stop_writing() {
        let usage = Usage::once(5);
        for _ in 0..1000 {
            usage.record(5);
        }
        assert_eq!(usage.at(5), (255.0, 0));
    }

    #[test]
    fn uses_halve_with_each_tick_and_a_use_counts_on_from_there() {
        let usage = Usage::once(0);
        (0..15).for_each(|_| usage.record(0));
        assert_eq!(usage.at(0), (16.0, 0));
        assert_eq!(usage.at(3), (2.0, 3));
        assert_eq!(usage.at(6), (0.25, 6));
        usage.record(2);
        assert_eq!(usage.at(2), (5.0, 0));
    }

    #[test]
    fn ticks_wrap_around() {
        let usage = Usage::once(u32::MAX);
        assert_eq!(usage.at(u32::MAX.wrapping_add(2)).1, 2);
    }
}
