//! Which hits are verified, and the counts of the results.

use crate::counters::Count;
use crate::flight::Computation;
use crate::sync::{AtomicU64, Ordering};

/// Which hits are verified, and the results.
#[derive(Debug)]
pub(crate) struct Verification {
    /// The share, as the bits of a number from 0 to 1. All bits zero stand for 0.
    pub(super) share: AtomicU64,
    pub(super) verified: Count,
    pub(super) disagreed: Count,
}

impl Default for Verification {
    fn default() -> Self {
        Self { share: AtomicU64::new(0), verified: Count::default(), disagreed: Count::default() }
    }
}

impl Verification {
    /// Returns true if this hit must be verified.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let share = self.share.load(Ordering::Relaxed);
        // Hits inside a lowering are not verified. Otherwise each verification would verify the
        // hits inside it, at every depth.
        share != 0 && fastrand::f64() < f64::from_bits(share) && Computation::running().is_none()
    }

    pub(crate) fn verified(&self) -> u64 {
        self.verified.get()
    }

    pub(crate) fn disagreed(&self) -> u64 {
        self.disagreed.get()
    }

    pub(crate) fn clear_counts(&self) {
        self.verified.clear();
        self.disagreed.clear();
    }
}
