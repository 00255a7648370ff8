//! The parts of the PTX cache, and the operations of its owner. Requests are in `get_or_lower.rs`.

use std::sync::Arc;
use std::time::Duration;

use ptx_key::PtxKey;

use super::tiers::{TierPolicy, TierSnapshot, Tiers};
use super::verified_share::VerifiedShare;
use crate::cache::Cache;
use crate::sync::{Mutex, lock};
use crate::{CacheError, Computed, Config, Listener, PtxArtifact, Snapshot, Store};

/// PTX text by key: from memory, from the tiers below it, or lowered, once for all who ask.
///
/// ```
/// use std::sync::Arc;
/// use ptx_cache::{Config, PtxCache};
/// use ptx_key::PtxKey;
///
/// let cache = PtxCache::new(Config::default());
/// let key = PtxKey::from_bytes([7; 32]);
/// let lower = || Ok::<_, std::fmt::Error>(".version 8.0\n".to_owned());
/// let first = cache.get_or_lower(&key, lower)?;
/// let second = cache.get_or_lower(&key, lower)?;
/// assert_eq!(&*second.payload, ".version 8.0\n");
/// assert!(Arc::ptr_eq(&first, &second));
/// assert_eq!(cache.snapshot().lowered, 1);
/// # Ok::<(), ptx_cache::CacheError>(())
/// ```
pub struct PtxCache {
    memory: Cache<PtxKey, Arc<PtxArtifact>>,
    pub(crate) tiers: Arc<Tiers>,
    pub(super) verified_share: VerifiedShare,
    /// What this layer counts. The counts of memory and tiers stay empty here.
    pub(super) counts: Mutex<PtxSnapshot>,
}

/// What the cache did, by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxSnapshot {
    /// Memory's counts. Its `computed` are the tiers' hits and `lowered` together.
    pub memory: Snapshot,
    /// Each tier's counts, fastest first.
    pub tiers: Vec<TierSnapshot>,
    /// Lowerings that succeeded.
    pub lowered: u64,
    /// Lowerings outside the cache, for requests that have no key.
    pub unkeyed: u64,
    /// Time that lowerings took.
    pub lowering_paid: Duration,
    /// The recorded lowering time of the artifacts that tiers served. `memory.saved` is the same
    /// for memory.
    pub lowering_saved_by_tiers: Duration,
    /// Lowerings that were too cheap to be written to the tiers.
    pub not_admitted: u64,
    /// Hits that were verified: lowered again and compared.
    pub verified: u64,
    /// Verified hits that differed from what was served.
    pub disagreed: u64,
}

impl PtxCache {
    /// A cache in memory alone.
    pub fn new(config: Config) -> Self {
        Self::with_tiers(config, Vec::new(), TierPolicy::default())
    }

    /// A cache above `tiers`, fastest first. A [`WritePolicy`](crate::WritePolicy) is a policy.
    pub fn with_tiers(
        config: Config,
        tiers: Vec<Arc<dyn Store<PtxKey>>>,
        policy: impl Into<TierPolicy>,
    ) -> Self {
        Self {
            memory: Cache::new(config),
            tiers: Arc::new(Tiers::new(tiers, policy.into())),
            verified_share: VerifiedShare::default(),
            counts: Mutex::default(),
        }
    }

    /// Notifies `listener` of every event but hits. The first listener stays.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn Listener<PtxKey>>) -> Self {
        self.tiers.set_listener(Arc::clone(&listener));
        Self { memory: self.memory.with_listener(listener), ..self }
    }

    /// Changes what is written to the tiers from now on.
    pub fn set_tier_policy(&self, policy: impl Into<TierPolicy>) {
        self.tiers.set_policy(policy.into());
    }

    /// Returns the artifact of `key` if it is in memory. Tiers are not asked.
    #[inline]
    pub fn get(&self, key: &PtxKey) -> Option<Arc<PtxArtifact>> {
        self.memory.get(key)
    }

    /// Keeps an artifact in memory that was lowered elsewhere. Returns true if it is kept. Tiers are
    /// not written.
    ///
    /// An artifact of unknown cost is evicted first.
    pub fn insert(&self, key: &PtxKey, artifact: impl Into<PtxArtifact>) -> bool {
        self.memory.insert(*key, Computed::artifact(artifact.into(), false))
    }

    /// Removes `key` from every tier and from memory, for a text that turned out to be wrong.
    /// Returns true if any had it.
    ///
    /// The slowest tier goes first and memory last, so that no request fills what was purged from
    /// what was not. A lowering that is under way publishes its text afterwards.
    ///
    /// # Errors
    ///
    /// [`CacheError::Store`] where a tier failed; the others were purged all the same.
    pub fn purge(&self, key: &PtxKey) -> Result<bool, CacheError> {
        let removed = self.tiers.remove(key);
        let resident = self.memory.remove(key).is_some();
        removed.map(|removed| removed || resident)
    }

    /// Empties memory and sets all counts to zero. Tiers are shared with others, and keep what they
    /// have.
    pub fn clear(&self) {
        self.memory.clear();
        self.tiers.clear_counts();
        *lock(&self.counts) = PtxSnapshot::default();
    }

    /// The cache in memory, for pinned look-ups, listing, settings, and removal from memory alone.
    pub fn memory(&self) -> &Cache<PtxKey, Arc<PtxArtifact>> {
        &self.memory
    }

    /// What the cache did so far.
    pub fn snapshot(&self) -> PtxSnapshot {
        PtxSnapshot {
            memory: self.memory.snapshot(),
            tiers: self.tiers.snapshots(),
            not_admitted: self.tiers.not_admitted.get(),
            ..lock(&self.counts).clone()
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
