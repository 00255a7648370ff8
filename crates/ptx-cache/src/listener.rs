//! What the cache tells those who listen.

use std::time::Duration;

use crate::CacheError;

/// Something that happened to a key. Hits are not told of: they are counted, and a call to a
/// listener would cost more than the hit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e, K> {
    /// A value was made, or loaded from a tier beneath, and is served.
    Made {
        /// Its key.
        key: &'e K,
        /// What it weighs.
        bytes: u64,
        /// What making it anew would cost.
        cost: Duration,
        /// Whether it is resident now. What alone exceeds the budget is served and not kept, and so
        /// is what came back and is worth less than those that would have to go for it.
        kept: bool,
    },
    /// A tier beneath had the artifact that is being asked for.
    Loaded {
        /// Its key.
        key: &'e K,
        /// The tier's name.
        tier: &'e str,
    },
    /// No value could be made.
    Failed {
        /// The key that was asked for.
        key: &'e K,
        /// The error that the caller and all who waited get.
        error: &'e CacheError,
    },
    /// A value was put in by its owner, who had it from elsewhere.
    Inserted {
        /// Its key.
        key: &'e K,
        /// What it weighs.
        bytes: u64,
        /// Whether it is resident now.
        kept: bool,
    },
    /// A resident value was taken out by its owner.
    Removed {
        /// Its key.
        key: &'e K,
        /// What it weighed.
        bytes: u64,
    },
    /// Everything that was resident was taken out.
    Cleared,
    /// A resident value was retired to make room for another.
    Evicted {
        /// Its key.
        key: &'e K,
        /// What it weighed.
        bytes: u64,
    },
    /// A tier could not say what it has, or could not keep an artifact. The request went on.
    TierFailed {
        /// The key that was asked for.
        key: &'e K,
        /// The tier's name.
        tier: &'e str,
        /// What the tier said.
        error: &'e (dyn std::error::Error + Send + Sync + 'static),
    },
    /// A hit could not be verified, because lowering its key again failed. It was served.
    NotVerified {
        /// The key.
        key: &'e K,
        /// The lowering's error.
        error: &'e CacheError,
    },
    /// A value that was served is not what lowering gives now: the key leaves out something that
    /// the lowering depends on. See
    /// [`PtxCache::set_verified_share`](crate::PtxCache::set_verified_share).
    Disagreed {
        /// The key that stands for two texts.
        key: &'e K,
        /// The first line that differs, counted from one.
        line: usize,
        /// That line as it was served; empty where the served text had ended.
        served: &'e str,
        /// That line as it was lowered now; empty where the text had ended.
        lowered: &'e str,
    },
}

/// Hears of events, in the thread that caused them, before the call that caused them returns.
///
/// No lock of the cache is held, so a listener may call the cache; where it asks for the very key
/// that is being made, it gets [`CacheError::Reentry`]. It should be quick, since the request waits
/// for it, and it must not panic.
pub trait Listener<K>: Send + Sync + 'static {
    /// Called once an event.
    fn hear(&self, event: &Event<'_, K>);
}

impl<K, F> Listener<K> for F
where
    F: Fn(&Event<'_, K>) + Send + Sync + 'static,
{
    fn hear(&self, event: &Event<'_, K>) {
        self(event);
    }
}
