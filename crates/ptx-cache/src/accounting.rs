//! How much is resident? Entries and bytes are reserved before an entry is published, and released
//! after it is removed.

use std::sync::Arc;

use ptx_store::{Artifact, Payload, Size};

use crate::sync::{AtomicU64, Ordering};

/// Values that count against a byte budget.
pub trait Weigh {
    /// The bytes that count against the budget. Always the same for the same value.
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

impl<P: Payload> Weigh for Arc<Artifact<P>> {
    /// The bytes of payload, attributes and trace.
    fn weight(&self) -> u64 {
        // What a field of a trace takes, its name and the map around it left out.
        let trace = self.trace.as_ref().map_or(0, |trace| trace.configuration().len() * 64);
        self.bytes() + trace as u64
    }
}

/// Entries and bytes share one word, so that both are checked and changed in one step.
const BYTES_BITS: u32 = 40;

/// The largest budget that can be counted: 2^24 − 1 entries, 2^40 − 1 bytes.
pub(crate) const COUNTABLE: Size =
    Size { entries: u64::MAX >> BYTES_BITS, bytes: (1 << BYTES_BITS) - 1 };

/// Returns this budget, or the largest that can be counted.
pub(crate) fn countable(budget: Size) -> Size {
    Size {
        entries: budget.entries.min(COUNTABLE.entries),
        bytes: budget.bytes.min(COUNTABLE.bytes),
    }
}

/// The counts of one cache.
///
/// **Exact.** Each entry adds one and its weight when it is reserved and takes off the same when
/// it is released, each once: so at every quiescent point the counts are the sums over the
/// resident entries, and they never exceed the budget that the last reservation was made under.
#[derive(Debug, Default)]
pub(crate) struct Accounting(AtomicU64);

impl Accounting {
    pub(crate) fn resident(&self) -> Size {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// Adds one entry of `weight` bytes. Returns false if the budget has no room for it.
    pub(crate) fn reserve(&self, weight: u64, budget: Size) -> bool {
        self.change(budget, |resident| resident.saturating_add(Size { entries: 1, bytes: weight }))
    }

    /// Puts an entry of `weight` bytes in the place of one of `before` bytes. Returns false if the
    /// budget has no room for it.
    pub(crate) fn exchange(&self, before: u64, weight: u64, budget: Size) -> bool {
        self.change(budget, |resident| Size {
            bytes: resident.bytes.saturating_sub(before).saturating_add(weight),
            ..resident
        })
    }

    fn change(&self, budget: Size, change: impl Fn(Size) -> Size) -> bool {
        let budget = countable(budget);
        let fits = |packed: u64| {
            let changed = change(unpack(packed));
            changed.fits(budget).then(|| pack(changed))
        };
        // Relaxed: the counts order nothing else.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Removes one entry that was reserved with the same weight.
    pub(crate) fn release(&self, weight: u64) {
        self.0.fetch_sub(pack(Size { entries: 1, bytes: weight }), Ordering::Relaxed);
    }
}

const fn pack(resident: Size) -> u64 {
    resident.entries << BYTES_BITS | resident.bytes
}

const fn unpack(packed: u64) -> Size {
    Size { entries: packed >> BYTES_BITS, bytes: packed & COUNTABLE.bytes }
}

#[cfg(test)]
mod tests;
