//! The cache of PTX text: memory above a stack of tiers above the lowering.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_key::{Digest, KeyTrace, PtxKey};

use crate::counters::Count;
use crate::tiers::{Found, Tiers};
use crate::{
    Artifact, Cache, CacheError, Config, Made, Origin, Snapshot, Store, TierSnapshot, WritePolicy,
};

/// PTX text by key: from memory, from the tiers beneath it, or lowered, once for all who ask.
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
/// assert!(Arc::ptr_eq(&first, &second));
/// assert_eq!(cache.snapshot().lowered, 1);
/// # Ok::<(), ptx_cache::CacheError>(())
/// ```
pub struct PtxCache {
    memory: Cache<PtxKey, Arc<str>>,
    tiers: Tiers,
    counts: LoweringCounts,
}

#[derive(Default)]
struct LoweringCounts {
    lowered: Count,
    paid_nanos: Count,
    saved_nanos: Count,
    unkeyed: Count,
}

/// What a lowering gives: the text, and what is to be kept beside it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The PTX text.
    pub text: Arc<str>,
    /// The digest of the program's normalized lane.
    pub family: Option<Digest>,
    /// The key's parts, to explain a later miss.
    pub trace: Option<Arc<KeyTrace>>,
}

impl Lowered {
    /// Adds the key's trace, and the program's family from it.
    #[must_use]
    pub fn with_trace(self, trace: KeyTrace) -> Self {
        Self { family: Some(trace.program().normalized), trace: Some(Arc::new(trace)), ..self }
    }
}

impl<T: Into<Arc<str>>> From<T> for Lowered {
    fn from(text: T) -> Self {
        Self { text: text.into(), family: None, trace: None }
    }
}

/// Where a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was in memory.
    Memory,
    /// The tier of this name had it.
    Tier(String),
    /// This request lowered it.
    Lowered,
    /// Another thread was loading or lowering it; this request waited.
    Coalesced,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Memory => "memory",
            Self::Tier(name) => name,
            Self::Lowered => "lowered",
            Self::Coalesced => "coalesced",
        })
    }
}

/// A text and where it came from.
#[derive(Clone, Debug)]
pub struct ServedPtx {
    /// The PTX text.
    pub text: Arc<str>,
    /// Where it came from.
    pub source: Source,
}

/// What the cache did, by origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxSnapshot {
    /// Memory's own counts. Its `made` are the tiers' hits and `lowered` together.
    pub memory: Snapshot,
    /// Each tier's counts, fastest first.
    pub tiers: Vec<TierSnapshot>,
    /// Lowerings that succeeded.
    pub lowered: u64,
    /// Lowerings outside the cache, for requests that have no key.
    pub unkeyed: u64,
    /// Time that lowerings took.
    pub lowering_paid: Duration,
    /// Time that the lowerings of artifacts served by tiers had taken when they were paid.
    pub lowering_saved_by_tiers: Duration,
}

impl PtxCache {
    /// A cache in memory alone.
    pub fn new(config: Config) -> Self {
        Self::with_tiers(config, Vec::new(), WritePolicy::default())
    }

    /// A cache above `tiers`, fastest first.
    pub fn with_tiers(config: Config, tiers: Vec<Arc<dyn Store>>, policy: WritePolicy) -> Self {
        Self {
            memory: Cache::new(config),
            tiers: Tiers::new(tiers, policy),
            counts: LoweringCounts::default(),
        }
    }

    /// The text of `key`: from memory, from a tier, from another thread that is lowering it, or
    /// by `lower`.
    ///
    /// `lower` runs in this thread, outside every lock, and may ask for other keys. It gives a
    /// `String`, an `Arc<str>`, or a [`Lowered`] with the trace to keep beside the text.
    ///
    /// # Errors
    ///
    /// See [`Cache::get_or_make`]; and [`CacheError::Store`] where a tier failed to keep a new
    /// artifact and the [`WritePolicy`] says that it must.
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this thread alone.
    pub fn get_or_lower<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Arc<str>, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve(key, lower).map(|served| served.text)
    }

    /// [`get_or_lower`](Self::get_or_lower), saying where the text came from.
    ///
    /// # Errors
    ///
    /// The same.
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this thread alone.
    pub fn serve<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<ServedPtx, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut source = Source::Lowered;
        let served = self.memory.get_or_try(*key, || {
            let found = match self.tiers.load(key) {
                Some(found) => found,
                None => match self.tiers.claim(key) {
                    Err(found) => found,
                    // The claims are held until the tiers have the artifact.
                    Ok(_claims) => return self.lower(key, lower),
                },
            };
            source = Source::Tier(self.tiers.name(found.tier).to_owned());
            Ok(self.loaded(found))
        })?;
        let source = match served.origin {
            Origin::Memory => Source::Memory,
            Origin::Coalesced => Source::Coalesced,
            Origin::Made => source,
        };
        Ok(ServedPtx { text: served.value, source })
    }

    /// Lowers a request that has no key (see `KeyError::Unkeyable`): nothing is looked up,
    /// nothing is kept, the request is counted.
    ///
    /// # Errors
    ///
    /// `lower`'s own.
    pub fn lower_unkeyed<L, E>(
        &self,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Arc<str>, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.counts.unkeyed.add(1);
        lower().map(|lowered| lowered.into().text).map_err(lowering_error)
    }

    /// The text of `key`, if it is in memory. Tiers are not asked.
    #[inline]
    pub fn get(&self, key: &PtxKey) -> Option<Arc<str>> {
        self.memory.get(key)
    }

    /// Keeps a text in memory that was lowered elsewhere; whether it fits. Tiers are not written.
    pub fn insert(&self, key: &PtxKey, text: impl Into<Arc<str>>) -> bool {
        self.memory.insert(*key, Made::new(text.into()))
    }

    /// Takes the text of `key` out of memory. Tiers keep theirs: see [`purge`](Self::purge).
    pub fn remove(&self, key: &PtxKey) -> Option<Arc<str>> {
        self.memory.remove(key)
    }

    /// Takes `key` out of memory and of every tier, for a text that turned out to be wrong.
    /// Whether any had it.
    ///
    /// # Errors
    ///
    /// [`CacheError::Store`] where a tier failed; the others were purged all the same.
    pub fn purge(&self, key: &PtxKey) -> Result<bool, CacheError> {
        let resident = self.memory.remove(key).is_some();
        self.tiers.remove(key).map(|removed| removed || resident)
    }

    /// Empties memory and sets all counts to zero. Tiers are shared with others and keep what
    /// they have.
    pub fn clear(&self) {
        self.memory.clear();
        self.tiers.clear_counts();
        let LoweringCounts { lowered, paid_nanos, saved_nanos, unkeyed } = &self.counts;
        [lowered, paid_nanos, saved_nanos, unkeyed].into_iter().for_each(Count::clear);
    }

    /// The memory beneath the operations above, for pinned lookups, listing and settings.
    pub fn memory(&self) -> &Cache<PtxKey, Arc<str>> {
        &self.memory
    }

    /// What the cache did so far.
    pub fn snapshot(&self) -> PtxSnapshot {
        PtxSnapshot {
            memory: self.memory.snapshot(),
            tiers: self.tiers.snapshots(),
            lowered: self.counts.lowered.get(),
            unkeyed: self.counts.unkeyed.get(),
            lowering_paid: Duration::from_nanos(self.counts.paid_nanos.get()),
            lowering_saved_by_tiers: Duration::from_nanos(self.counts.saved_nanos.get()),
        }
    }

    fn lower<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Made<Arc<str>>, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let _span = tracing::debug_span!("lowering", %key).entered();
        let started = Instant::now();
        let Lowered { text, family, trace } = lower().map_err(lowering_error)?.into();
        let cost = started.elapsed();
        self.counts.lowered.add(1);
        self.counts.paid_nanos.add(nanos(cost));
        let artifact = Artifact { text, cost, family, trace };
        self.tiers.write(key, &artifact)?;
        Ok(Made { value: artifact.text, cost: Some(cost), family })
    }

    fn loaded(&self, found: Found) -> Made<Arc<str>> {
        let Artifact { text, cost, family, .. } = found.artifact;
        self.counts.saved_nanos.add(nanos(cost));
        Made { value: text, cost: Some(cost), family }
    }
}

fn lowering_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
    CacheError::Lowering(Arc::from(error.into()))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
