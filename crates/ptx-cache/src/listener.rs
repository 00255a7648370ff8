//! What does a listener learn?

use std::time::Duration;

use crate::CacheError;

/// Something that happened to a key. Hits are no events: a call to a listener would cost more than
/// the hit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e, K> {
    /// A leader published a value: computed, or loaded from a lower tier.
    Computed {
        /// Its key.
        key: &'e K,
        /// Its bytes.
        bytes: u64,
        /// What computing it again would cost.
        cost: Duration,
        /// Whether it is resident now. A value is served and not kept if it alone exceeds the
        /// budget, or if it came back and is worth less than its victims.
        kept: bool,
    },
    /// A lower tier had the artifact.
    Loaded {
        /// Its key.
        key: &'e K,
        /// The tier's name.
        tier: &'e str,
    },
    /// The leader failed.
    Failed {
        /// The key that was asked for.
        key: &'e K,
        /// The error that the caller and all waiters get.
        error: &'e CacheError,
    },
    /// The owner inserted a value.
    Inserted {
        /// Its key.
        key: &'e K,
        /// Its bytes.
        bytes: u64,
        /// Whether it is resident now.
        kept: bool,
    },
    /// The owner removed a resident value.
    Removed {
        /// Its key.
        key: &'e K,
        /// Its bytes.
        bytes: u64,
    },
    /// The owner removed everything that was resident.
    Cleared,
    /// A resident value was evicted.
    Evicted {
        /// Its key.
        key: &'e K,
        /// Its bytes.
        bytes: u64,
    },
    /// A tier could not load or keep an artifact. The request went on.
    TierFailed {
        /// The key that was asked for.
        key: &'e K,
        /// The tier's name.
        tier: &'e str,
        /// The tier's error.
        error: &'e (dyn std::error::Error + Send + Sync + 'static),
    },
    /// A hit was served but not verified, because lowering its key again failed.
    NotVerified {
        /// The key.
        key: &'e K,
        /// The lowering's error.
        error: &'e CacheError,
    },
    /// A served text is not what lowering gives now: the key leaves out something that the
    /// lowering depends on. See
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

/// Is notified of events, in the thread that causes them, before the call that causes them returns.
///
/// No lock of the cache is held, so a listener may call the cache. If it asks for the key that is
/// being computed, it gets [`CacheError::Reentry`]. The request waits for it, so it should be
/// quick. It must not panic.
pub trait Listener<K>: Send + Sync + 'static {
    /// Is called once for each event.
    fn notify(&self, event: &Event<'_, K>);
}

impl<K, F> Listener<K> for F
where
    F: Fn(&Event<'_, K>) + Send + Sync + 'static,
{
    fn notify(&self, event: &Event<'_, K>) {
        self(event);
    }
}
