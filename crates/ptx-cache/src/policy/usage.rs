//! How often, how lately and at what intervals an entry was used, in one word that is seldom written.
//!
//! Time passes in ticks. A tick is a number of insertions and no time of a clock: with no insertion
//! nothing has to be chosen, no tick passes, and hits write nothing. The first use in a tick notes
//! how many ticks passed since the one before. The last two such gaps stand in the word: kernels come
//! in bursts, so an entry's gaps are short and long by turns, and a mean of them would be neither.
//!
//! The count is exact up to eight. Above, it is kept as a power of two and a quarter of the way to
//! the next, and a use moves it on with the probability that keeps its expectation right (Morris,
//! *Counting large numbers of events in small registers*, Communications of the ACM 21, 1978): an
//! entry that was used 64 times was written 20 times for it, and then no more. It is for reports, and
//! decides nothing. Two threads that use an entry at once may count as one use.

use crate::sync::{AtomicU32, Ordering};

/// Uses beyond which none are told apart: hits then write nothing and compute nothing.
const MOST_USES: u32 = 64;
const LAST_CODE: u32 = encode(MOST_USES);

const CODE_BITS: u32 = 5;
const CODE_MASK: u32 = (1 << CODE_BITS) - 1;
/// Above the count's code stand the codes of the last gap and of the one before, and above these
/// the tick of the last use.
const GAP_BITS: u32 = 6;
const GAP_MASK: u32 = (1 << GAP_BITS) - 1;
const GAPS_MASK: u32 = (1 << (2 * GAP_BITS)) - 1;
const LOW_BITS: u32 = CODE_BITS + 2 * GAP_BITS;
const TICK_MASK: u32 = u32::MAX >> LOW_BITS;
const LONGEST_GAP: u32 = decode(GAP_MASK);

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Usage(AtomicU32);

impl Usage {
    /// One use at `tick`.
    pub(crate) fn once(tick: u32) -> Self {
        Self(AtomicU32::new(tick << LOW_BITS | encode(1)))
    }

    /// Counts one use at `tick`. Writes only if that changes something. `turn` numbers the uses of
    /// the calling thread, of whatever entries.
    #[inline]
    pub(crate) fn record(&self, tick: u32, turn: u64) {
        // Relaxed: an estimate that publishes nothing else.
        let word = self.0.load(Ordering::Relaxed);
        let full = tick << LOW_BITS | LAST_CODE;
        if word & !(GAPS_MASK << CODE_BITS) != full
            && (is_of_before(word, tick) || moves_on(word & CODE_MASK, turn))
        {
            self.count(word, tick, turn);
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, word: u32, tick: u32, turn: u64) {
        let counted = if moves_on(word & CODE_MASK, turn) { one_more(word) } else { word };
        let noted = if is_of_before(word, tick) { with_gap(counted, tick) } else { counted };
        self.0.store(noted, Ordering::Relaxed);
    }

    /// One more use at `tick`, after an absence before which [`word`](Self::word) gave `word`.
    pub(crate) fn again(word: u32, tick: u32) -> Self {
        Self(AtomicU32::new(with_gap(one_more(word), tick)))
    }

    /// What is known of the uses, to go on from with [`again`](Self::again).
    pub(crate) fn word(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// What is known of the uses at `tick`.
    pub(crate) fn at(&self, tick: u32) -> Uses {
        let word = self.word();
        let gap = |shift: u32| decode(word >> shift & GAP_MASK);
        Uses {
            count: decode(word & CODE_MASK),
            idle: idle_ticks(word, tick),
            gaps: [gap(CODE_BITS), gap(CODE_BITS + GAP_BITS)],
        }
    }

    /// A copy for another slot of the same key.
    pub(crate) fn copy(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) count: u32,
    /// Ticks since the last one.
    pub(crate) idle: u32,
    /// Ticks between the last two ticks with a use, and between the two before. Zero where there
    /// were none.
    pub(crate) gaps: [u32; 2],
}

/// `word` with the next count, if there is one.
const fn one_more(word: u32) -> u32 {
    if word & CODE_MASK == LAST_CODE { word } else { word + 1 }
}

/// `word` with the gap from its tick to `tick`, and that as its tick.
fn with_gap(word: u32, tick: u32) -> u32 {
    let gap = encode(idle_ticks(word, tick).clamp(1, LONGEST_GAP));
    let before = word >> CODE_BITS & GAP_MASK;
    let gaps = before << GAP_BITS | gap;
    (tick & TICK_MASK) << LOW_BITS | gaps << CODE_BITS | word & CODE_MASK
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

/// Ticks wrap around after 2^15; an entry idle for longer looks younger than it is.
const fn idle_ticks(word: u32, tick: u32) -> u32 {
    tick.wrapping_sub(word >> LOW_BITS) & TICK_MASK
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
mod tests;
