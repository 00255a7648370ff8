//! Entries and bytes: reserved before an entry is published, released after it is taken out.

use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// What a value weighs.
pub trait Weigh {
    /// Bytes that count against the byte budget. Always the same for the same value.
    fn weight(&self) -> u64;
}

impl Weigh for Arc<str> {
    fn weight(&self) -> u64 {
        self.len() as u64
    }
}

impl Weigh for Arc<[u8]> {
    fn weight(&self) -> u64 {
        self.len() as u64
    }
}

/// How much may be resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most entries; at most [`Budget::MOST_ENTRIES`] count.
    pub entries: u64,
    /// Most bytes, as [`Weigh`] counts them; at most [`Budget::MOST_BYTES`] count.
    pub bytes: u64,
}

/// The two counts share one word, so that both are checked and changed in one step.
const BYTES_BITS: u32 = 40;

impl Budget {
    /// The largest number of entries: 2^24 − 1.
    pub const MOST_ENTRIES: u64 = u64::MAX >> BYTES_BITS;
    /// The largest number of bytes: 2^40 − 1, one tebibyte.
    pub const MOST_BYTES: u64 = (1 << BYTES_BITS) - 1;
    /// As much as can be counted.
    pub const UNBOUNDED: Self = Self { entries: Self::MOST_ENTRIES, bytes: Self::MOST_BYTES };

    pub(crate) fn holds(&self, resident: Resident) -> bool {
        resident.entries <= self.entries && resident.bytes <= self.bytes
    }

    /// This budget, or the largest that can be counted.
    pub(crate) fn countable(self) -> Self {
        Self {
            entries: self.entries.min(Self::MOST_ENTRIES),
            bytes: self.bytes.min(Self::MOST_BYTES),
        }
    }
}

/// How much is resident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Entries.
    pub entries: u64,
    /// Bytes, as [`Weigh`] counts them.
    pub bytes: u64,
}

/// The counts of one cache.
///
/// **Exact.** Each entry adds one and its weight when it is reserved and takes off the same when
/// it is released, each once: so at every quiescent point the counts are the sums over the
/// resident entries, and they never exceed the budget that the last reservation was made under.
#[derive(Debug)]
pub(crate) struct Accounting(AtomicU64);

impl Accounting {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn resident(&self) -> Resident {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// Counts one entry of `weight` bytes in, if the budget holds it beside what is resident.
    pub(crate) fn reserve(&self, weight: u64, budget: Budget) -> bool {
        self.change(budget, |resident| Resident {
            entries: resident.entries + 1,
            bytes: resident.bytes.saturating_add(weight),
        })
    }

    /// Counts an entry of `weight` bytes in the place of one that was counted with `before`, if
    /// the budget holds that.
    pub(crate) fn exchange(&self, before: u64, weight: u64, budget: Budget) -> bool {
        self.change(budget, |resident| Resident {
            bytes: resident.bytes.saturating_sub(before).saturating_add(weight),
            ..resident
        })
    }

    fn change(&self, budget: Budget, change: impl Fn(Resident) -> Resident) -> bool {
        let budget = budget.countable();
        let fits = |packed: u64| {
            let changed = change(unpack(packed));
            budget.holds(changed).then(|| pack(changed))
        };
        // Relaxed: the counts order nothing else.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Counts out one entry that was reserved with the same weight.
    pub(crate) fn release(&self, weight: u64) {
        self.0.fetch_sub(pack(Resident { entries: 1, bytes: weight }), Ordering::Relaxed);
    }
}

const fn pack(resident: Resident) -> u64 {
    resident.entries << BYTES_BITS | resident.bytes
}

const fn unpack(packed: u64) -> Resident {
    Resident { entries: packed >> BYTES_BITS, bytes: packed & Budget::MOST_BYTES }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_counts_fit_beside_each_other() {
        let accounting = Accounting::new();
        assert!(accounting.reserve(Budget::MOST_BYTES, Budget::UNBOUNDED));
        assert!(!accounting.reserve(1, Budget::UNBOUNDED));
        assert!(accounting.reserve(0, Budget::UNBOUNDED));
        let full = Resident { entries: 2, bytes: Budget::MOST_BYTES };
        assert_eq!(accounting.resident(), full);
        assert!(!accounting.reserve(u64::MAX, Budget { entries: u64::MAX, bytes: u64::MAX }));
        accounting.release(Budget::MOST_BYTES);
        accounting.release(0);
        assert_eq!(accounting.resident(), Resident::default());
    }

    proptest! {
        #[test]
        fn counts_are_the_sums_and_never_over_budget(
            steps in prop::collection::vec((0_u64..50, any::<bool>()), 1..200),
            entries in 0_u64..10,
            bytes in 0_u64..200,
        ) {
            let accounting = Accounting::new();
            let budget = Budget { entries, bytes };
            let mut held: Vec<u64> = Vec::new();
            for (weight, release) in steps {
                if release {
                    if let Some(weight) = held.pop() {
                        accounting.release(weight);
                    }
                } else {
                    let fits = (held.len() as u64) < entries
                        && held.iter().sum::<u64>() + weight <= bytes;
                    prop_assert_eq!(accounting.reserve(weight, budget), fits);
                    if fits {
                        held.push(weight);
                    }
                }
                let sums = Resident { entries: held.len() as u64, bytes: held.iter().sum() };
                prop_assert_eq!(accounting.resident(), sums);
            }
        }
    }
}
