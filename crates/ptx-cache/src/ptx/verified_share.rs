//! Which hits are verified?

use crate::flight::Computation;
use crate::sync::{AtomicU64, Ordering};

/// The share of hits that are verified, as the bits of a number from 0 to 1. All bits zero stand
/// for 0.
#[derive(Debug, Default)]
pub(crate) struct VerifiedShare(AtomicU64);

impl VerifiedShare {
    /// Sets the share. NaN counts as 0.
    pub(super) fn set(&self, share: f64) {
        let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
        self.0.store(share.to_bits(), Ordering::Relaxed);
    }

    /// Returns true if this hit must be verified.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let share = self.0.load(Ordering::Relaxed);
        // Hits inside a lowering are not verified. Otherwise each verification would verify the
        // hits inside it, at every depth.
        share != 0 && fastrand::f64() < f64::from_bits(share) && Computation::running().is_none()
    }
}
