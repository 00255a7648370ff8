//! How often and how lately an entry was used, in one word that is seldom written.
//!
//! The count is exact up to eight. Above, it is kept as a power of two and a quarter of the way to
//! the next, and a use moves it on with the probability that keeps its expectation right (Morris,
//! *Counting large numbers of events in small registers*, Communications of the ACM 21, 1978): so
//! an entry that was used 64 times was written 20 times, and then no more: what is used that often
//! between two ticks stays anyway, and each write is a line that other cores have to fetch again.
//!
//! Beside the count stands how many ticks passed, lately, from a use to the first one in a later
//! tick: the interval after which to expect the entry again.
//!
//! The count halves with each tick. A tick is a number of insertions, not a time: with no insertion
//! nothing has to be chosen, no tick passes, and an entry whose count is full is read without being
//! written. Counts are estimates: two threads that use an entry at once may count as one use.

use crate::sync::{AtomicU32, Ordering};

/// Uses within one tick beyond which nothing is told apart, and nothing is written.
pub(crate) const MOST_USES: u32 = 64;

const CODE_BITS: u32 = 5;
const CODE_MASK: u32 = (1 << CODE_BITS) - 1;
/// Above the code stands the interval's code, and above that the tick of the last use.
const INTERVAL_BITS: u32 = 6;
const INTERVAL_MASK: u32 = (1 << INTERVAL_BITS) - 1;
const LOW_BITS: u32 = CODE_BITS + INTERVAL_BITS;
const TICK_MASK: u32 = u32::MAX >> LOW_BITS;
const LONGEST_INTERVAL: u32 = decode(INTERVAL_MASK);
const LAST_CODE: u32 = encode(MOST_USES);

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Usage(AtomicU32);

impl Usage {
    /// One use at `tick`.
    pub(crate) fn once(tick: u32) -> Self {
        Self(AtomicU32::new(pack(1, 0, tick)))
    }

    /// Counts one use at `tick`. Writes only if that changes something. `turn` numbers the uses of
    /// the calling thread, of whatever entries.
    #[inline]
    pub(crate) fn record(&self, tick: u32, turn: u64) {
        // Relaxed: an estimate that publishes nothing else.
        let word = self.0.load(Ordering::Relaxed);
        let full = tick << LOW_BITS | LAST_CODE;
        if word & !(INTERVAL_MASK << CODE_BITS) != full
            && (is_of_before(word, tick) || moves_on(word & CODE_MASK, turn))
        {
            self.count(word, tick);
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, word: u32, tick: u32) {
        let counted = if is_of_before(word, tick) { used_again(word, tick) } else { word + 1 };
        self.0.store(counted, Ordering::Relaxed);
    }

    /// One more use at `tick`, after an absence before which [`word`](Self::word) gave `word`.
    pub(crate) fn again(word: u32, tick: u32) -> Self {
        Self(AtomicU32::new(used_again(word, tick)))
    }

    /// What is known of the uses, to go on from with [`again`](Self::again).
    pub(crate) fn word(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// What is known of the uses at `tick`.
    pub(crate) fn at(&self, tick: u32) -> Uses {
        let word = self.word();
        let idle = idle_ticks(word, tick);
        let halvings = i32::try_from(idle).unwrap_or(i32::MAX);
        let count = f64::from(decode(word & CODE_MASK)) * 0.5_f64.powi(halvings);
        Uses { count, idle, interval: decode(word >> CODE_BITS & INTERVAL_MASK) }
    }

    /// A copy for another slot of the same key.
    pub(crate) fn copy(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// How often and how lately an entry was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uses {
    /// Halved for each tick since the last one.
    pub(crate) count: f64,
    /// Ticks since the last one.
    pub(crate) idle: u32,
    /// Ticks from a use to the first one in a later tick, smoothed. Zero where there was none yet.
    pub(crate) interval: u32,
}

/// The word after a use at `tick`, the first in it.
fn used_again(word: u32, tick: u32) -> u32 {
    let idle = idle_ticks(word, tick);
    let uses = decode(word & CODE_MASK).checked_shr(idle).unwrap_or(0);
    let before = decode(word >> CODE_BITS & INTERVAL_MASK);
    let gap = idle.min(LONGEST_INTERVAL);
    // Kernels come in bursts, so the gaps of one entry are short and long by turns. What retention
    // asks is when the next burst comes: a long gap counts at once, short ones wear it off.
    let interval = if gap >= before { gap } else { before - (before - gap) / 4 };
    pack(uses + 1, interval, tick)
}

/// Whether the last use was not at `tick`.
#[inline]
const fn is_of_before(word: u32, tick: u32) -> bool {
    (word ^ tick << LOW_BITS) >> LOW_BITS != 0
}

/// Whether this use moves `code` to the next, which stands for `1 << step_bits` more uses.
#[inline]
fn moves_on(code: u32, turn: u64) -> bool {
    // Multiples of the golden ratio are spread evenly over the circle however they are picked from
    // (Knuth, The Art of Computer Programming, volume 3, section 6.4), so an entry that is used
    // every third or every hundredth time is counted as rightly as any other.
    let spread = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread <= u64::MAX >> step_bits(code)
}

/// Ticks wrap around after 2^21; an entry idle for longer looks younger than it is.
const fn idle_ticks(word: u32, tick: u32) -> u32 {
    tick.wrapping_sub(word >> LOW_BITS) & TICK_MASK
}

const fn pack(uses: u32, interval: u32, tick: u32) -> u32 {
    (tick & TICK_MASK) << LOW_BITS
        | encode(interval) << CODE_BITS
        | encode(if uses < MOST_USES { uses } else { MOST_USES })
}

/// The largest code that stands for no more than `uses`: two bits behind the leading one.
const fn encode(uses: u32) -> u32 {
    if uses < 4 {
        return uses;
    }
    let shift = uses.ilog2() - 2;
    (shift + 1) << 2 | (uses >> shift) & 3
}

/// The uses that `code` stands for.
const fn decode(code: u32) -> u32 {
    if code < 4 { code } else { (4 | code & 3) << step_bits(code) }
}

/// The logarithm to base two of the uses between `code` and the next.
#[inline]
const fn step_bits(code: u32) -> u32 {
    (code >> 2).saturating_sub(1)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_for_growing_counts_and_small_ones_are_exact() {
        for code in 0..LAST_CODE {
            assert_eq!(encode(decode(code)), code);
            assert_eq!(decode(code + 1) - decode(code), 1 << step_bits(code), "{code}");
        }
        assert!((0..=8).all(|uses| decode(encode(uses)) == uses));
        assert_eq!(decode(LAST_CODE), MOST_USES);
    }

    #[test]
    fn counts_come_out_right_whatever_the_pattern_of_uses() {
        for stride in [1, 2, 3, 7, 64, 100, 485, 1000, 4096] {
            for uses in [8_u32, 20, 40, 60] {
                let usage = Usage::once(5);
                (1..uses).for_each(|use_| usage.record(5, u64::from(use_ * stride)));
                let counted = usage.at(5).count;
                let share = counted / f64::from(uses);
                assert!((0.6..=1.5).contains(&share), "{uses} uses, one in {stride}: {counted}");
            }
        }
    }

    #[test]
    fn a_full_count_is_not_written() {
        let usage = Usage::once(5);
        (0..100_000).for_each(|turn| usage.record(5, turn));
        let full = Uses { count: f64::from(MOST_USES), idle: 0, interval: 0 };
        assert_eq!(usage.at(5), full);
        let word = usage.0.load(Ordering::Relaxed);
        usage.record(5, 0);
        assert_eq!(usage.0.load(Ordering::Relaxed), word);
    }

    #[test]
    fn a_count_is_written_seldom() {
        let usage = Usage::once(5);
        let mut writes = 0;
        for turn in 0..4096 {
            let before = usage.0.load(Ordering::Relaxed);
            usage.record(5, turn);
            writes += u32::from(usage.0.load(Ordering::Relaxed) != before);
        }
        assert!(writes <= LAST_CODE, "{writes} writes");
    }

    #[test]
    fn uses_halve_with_each_tick_and_a_use_counts_on_from_there() {
        let usage = Usage::once(0);
        (0..7).for_each(|_| usage.record(0, 0));
        let uses = |count, idle, interval| Uses { count, idle, interval };
        assert_eq!(usage.at(0), uses(8.0, 0, 0));
        assert_eq!(usage.at(3), uses(1.0, 3, 0));
        assert_eq!(usage.at(5), uses(0.25, 5, 0));
        usage.record(2, 0);
        assert_eq!(usage.at(2), uses(3.0, 0, 2));
    }

    #[test]
    fn a_long_gap_counts_at_once_and_short_ones_wear_it_off() {
        let usage = Usage::once(0);
        let mut intervals = Vec::new();
        for tick in [1, 9, 10, 11, 12, 20] {
            usage.record(tick, 0);
            intervals.push(usage.at(tick).interval);
        }
        assert_eq!(intervals, [1, 8, 7, 6, 5, 8]);
    }

    #[test]
    fn an_entry_that_comes_back_goes_on_from_where_it_was() {
        let usage = Usage::once(3);
        (0..7).for_each(|_| usage.record(3, 0));
        let again = Usage::again(usage.word(), 5);
        assert_eq!(again.at(5), Uses { count: 3.0, idle: 0, interval: 2 });
    }

    #[test]
    fn ticks_wrap_around() {
        let usage = Usage::once(u32::MAX);
        assert_eq!(usage.at(u32::MAX.wrapping_add(2)).idle, 2);
    }
}
