//! Which entries are evicted next? The queue of victims that a choice found.

use std::time::Duration;

use ptx_store::Size;

use super::refusals::Refusals;
use super::retention::Candidate;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Slot;

/// The victims of the last choice that are still resident.
pub(crate) struct VictimQueue<K> {
    /// The next victim comes last.
    pub(super) queue: Vec<Victim<K>>,
    /// The tick of the last choice.
    pub(super) chosen_at: u32,
    pub(super) refusals: Refusals<Victim<K>>,
}

impl<K> Default for VictimQueue<K> {
    fn default() -> Self {
        Self { queue: Vec::new(), chosen_at: 0, refusals: Refusals::default() }
    }
}

impl<K> VictimQueue<K> {
    /// Forgets a choice that was made under other settings.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }
}

/// An entry as it was when it was chosen.
#[derive(Clone, Copy)]
pub(super) struct Victim<K> {
    pub(super) key: K,
    pub(super) usage: u32,
}

impl<K> Victim<K> {
    /// Returns true if the entry, which is at `slot` now, was used since the choice.
    pub(super) fn was_used<V>(&self, slot: &Slot<K, V>) -> bool {
        slot.usage.word() != self.usage
    }
}

/// An entry that needs room.
pub(crate) struct Newcomer {
    /// The hash of its key.
    pub(crate) hash: u64,
    pub(crate) entry: Candidate,
    /// What it adds to the resident size: less than itself where it replaces a value.
    pub(crate) adds: Size,
}

impl Newcomer {
    /// Returns true if the newcomer must be worth more than its victims to be kept.
    ///
    /// A newcomer that was never used again is not judged, because a burst of uses may follow. The
    /// next choice judges it. A newcomer larger than half of the byte budget is always judged.
    pub(super) fn is_judged(&self, budget: Size) -> bool {
        self.entry.gaps[0] > 0 || self.entry.bytes > budget.bytes / 2
    }
}

/// The running mean of loads from a lower tier, in nanoseconds. Zero before the first.
#[derive(Debug, Default)]
pub(crate) struct LoadTime(AtomicU64);

impl LoadTime {
    pub(crate) fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Relaxed, and two at once may count as one: an estimate that publishes nothing else.
        let mean = match self.0.load(Ordering::Relaxed) {
            0 => took,
            mean => mean - mean / 16 + took / 16,
        };
        self.0.store(mean.max(1), Ordering::Relaxed);
    }

    pub(super) fn mean(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&mean| mean > 0).map(Duration::from_nanos)
    }
}
