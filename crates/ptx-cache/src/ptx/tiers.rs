//! What happens in the tiers below memory? The cache asks the fastest first, fills the tiers above
//! a hit, and writes to all after a lowering.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ptx_key::PtxKey;

use crate::counters::Count;
use crate::sync::{Mutex, lock};
use crate::{CacheError, Claim, Event, Listener, PtxArtifact, Store, StoreError, Stored};

/// Which tier's failure to keep a new artifact is the caller's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WritePolicy {
    /// None: a failed write is counted and the caller gets its text.
    #[default]
    Ignore,
    /// The fastest tier's.
    FirstTier,
    /// Any tier's.
    All,
}

/// What is written to the tiers, and which failure counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierPolicy {
    /// Which tier's failure to keep a new artifact is the caller's error.
    pub writes: WritePolicy,
    /// A lowering that took less is written to no tier: lowering again is cheaper than loading. Zero,
    /// the default, writes everything.
    pub least_cost: Duration,
}

impl From<WritePolicy> for TierPolicy {
    fn from(writes: WritePolicy) -> Self {
        Self { writes, ..Self::default() }
    }
}

/// A stack of tiers, fastest first.
pub(crate) struct Tiers {
    stack: Vec<Tier>,
    policy: ArcSwap<TierPolicy>,
    /// Artifacts that were too cheap to be written.
    pub(super) not_admitted: Count,
    listener: OnceLock<Arc<dyn Listener<PtxKey>>>,
}

struct Tier {
    store: Arc<dyn Store<PtxKey>>,
    name: Arc<str>,
    counts: Mutex<TierSnapshot>,
}

/// What one tier did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TierSnapshot {
    /// The tier's name.
    pub name: Arc<str>,
    /// Requests that it answered.
    pub hits: u64,
    /// Requests that it could not answer.
    pub misses: u64,
    /// Artifacts of a lower tier that it wrote.
    pub fills: u64,
    /// New artifacts that it wrote.
    pub writes: u64,
    /// Writes of artifacts that it already had.
    pub present: u64,
    /// Artifacts that it skipped, because it writes nothing now.
    pub skipped: u64,
    /// Loads and claims that failed. Each request went on as with a miss.
    pub load_failures: u64,
    /// Writes that failed.
    pub write_failures: u64,
    /// Damaged artifacts that it quarantined.
    pub quarantined: u64,
    /// Time in its loads and claims.
    pub load_time: Duration,
    /// Time in its writes.
    pub write_time: Duration,
}

/// What the tiers have of a key.
pub(crate) enum Find {
    /// The artifact.
    Found(Found),
    /// Nothing. The caller lowers, and holds the claims until the tiers have the artifact.
    Absent(Claims),
}

/// An artifact that a tier had.
pub(crate) struct Found {
    pub(crate) artifact: PtxArtifact,
    /// The number of the tier.
    tier: usize,
    /// The tier's name.
    pub(crate) name: Arc<str>,
    /// The time that the load took; `None` if another process published it meanwhile.
    pub(crate) took: Option<Duration>,
}

/// Claims on a key in every tier that coordinates. Other processes wait until they are dropped.
pub(crate) struct Claims {
    _held: Vec<Box<dyn Send>>,
}

impl Tiers {
    pub(crate) fn new(stores: Vec<Arc<dyn Store<PtxKey>>>, policy: TierPolicy) -> Self {
        let stack = stores.into_iter().map(|store| {
            let name: Arc<str> = store.name().into();
            let counts = TierSnapshot { name: Arc::clone(&name), ..TierSnapshot::default() };
            Tier { store, name, counts: Mutex::new(counts) }
        });
        Self {
            stack: stack.collect(),
            policy: ArcSwap::from_pointee(policy),
            not_admitted: Count::default(),
            listener: OnceLock::new(),
        }
    }

    #[cfg(feature = "async")]
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(crate) fn set_policy(&self, policy: TierPolicy) {
        self.policy.store(Arc::new(policy));
    }

    fn policy(&self) -> TierPolicy {
        **self.policy.load()
    }

    /// Returns true if a failed write is the caller's error.
    pub(crate) fn must_keep(&self) -> bool {
        self.policy().writes != WritePolicy::Ignore
    }

    /// Notifies `listener` of failures. The first listener stays.
    pub(crate) fn set_listener(&self, listener: Arc<dyn Listener<PtxKey>>) {
        let _ = self.listener.set(listener);
    }

    pub(crate) fn snapshots(&self) -> Vec<TierSnapshot> {
        let snapshot = |tier: &Tier| TierSnapshot {
            quarantined: tier.store.quarantined(),
            ..lock(&tier.counts).clone()
        };
        self.stack.iter().map(snapshot).collect()
    }

    pub(crate) fn clear_counts(&self) {
        for tier in &self.stack {
            let name = Arc::clone(&tier.name);
            *lock(&tier.counts) = TierSnapshot { name, ..TierSnapshot::default() };
        }
        self.not_admitted.clear();
    }

    /// Returns the artifact from the fastest tier that has it. If none has, claims `key` in every
    /// tier that coordinates: this waits, for a bounded time, while another process lowers it.
    pub(crate) fn find(&self, key: &PtxKey) -> Find {
        let (asked, find) = match self.load(key) {
            Some(found) => (found.tier + 1, Find::Found(found)),
            None => (self.stack.len(), self.claim(key)),
        };
        // Only now: a claim may have found what the load before it did not.
        for (number, tier) in self.stack.iter().enumerate().take(asked) {
            let is_hit = matches!(&find, Find::Found(found) if found.tier == number);
            let mut counts = lock(&tier.counts);
            *if is_hit { &mut counts.hits } else { &mut counts.misses } += 1;
        }
        find
    }

    fn load(&self, key: &PtxKey) -> Option<Found> {
        self.stack.iter().enumerate().find_map(|(number, tier)| {
            let started = Instant::now();
            let artifact = self.read(tier, key, || tier.store.load(key)).flatten()?;
            let (name, took) = (Arc::clone(&tier.name), Some(started.elapsed()));
            Some(Found { artifact, tier: number, name, took })
        })
    }

    /// Claims `key` in every tier, from the fastest down, unless a tier has the artifact by then.
    fn claim(&self, key: &PtxKey) -> Find {
        let mut held = Vec::new();
        for (number, tier) in self.stack.iter().enumerate() {
            match self.read(tier, key, || tier.store.claim(key)) {
                Some(Claim::Held(claim)) => held.push(claim),
                Some(Claim::Published(artifact)) => {
                    let name = Arc::clone(&tier.name);
                    return Find::Found(Found { artifact, tier: number, name, took: None });
                }
                Some(Claim::NotCoordinated) | None => {}
            }
        }
        Find::Absent(Claims { _held: held })
    }

    /// Returns true if a tier will keep a new artifact that [`write`](Self::write) gives to all.
    pub(crate) fn keeps(&self, artifact: &PtxArtifact) -> bool {
        artifact.cost >= self.policy().least_cost
            && self.stack.iter().any(|tier| tier.store.is_writable())
    }

    /// Writes a new artifact to every tier, unless it was too cheap.
    ///
    /// # Errors
    ///
    /// The first failure that the policy does not ignore, after every tier was tried.
    pub(crate) fn write(&self, key: &PtxKey, artifact: &PtxArtifact) -> Result<(), CacheError> {
        let policy = self.policy();
        if artifact.cost < policy.least_cost {
            self.not_admitted.add(1);
            return Ok(());
        }
        let mut outcome = Ok(());
        for (number, tier) in self.stack.iter().enumerate() {
            let Err(source) = self.write_to(tier, key, artifact, |counts| &mut counts.writes)
            else {
                continue;
            };
            let counts = match policy.writes {
                WritePolicy::Ignore => false,
                WritePolicy::FirstTier => number == 0,
                WritePolicy::All => true,
            };
            if counts && outcome.is_ok() {
                let tier = Arc::clone(&tier.name);
                outcome = Err(CacheError::Store { tier, source: Arc::new(source) });
            }
        }
        outcome
    }

    /// Removes `key` from every tier, the slowest first. Returns true if one had it.
    ///
    /// # Errors
    ///
    /// The first failure, after every tier was tried.
    pub(crate) fn remove(&self, key: &PtxKey) -> Result<bool, CacheError> {
        let mut outcome = Ok(false);
        for tier in self.stack.iter().rev() {
            match tier.store.remove(key) {
                Ok(removed) => outcome = outcome.map(|before| before || removed),
                Err(source) => {
                    let tier = Arc::clone(&tier.name);
                    outcome =
                        outcome.and(Err(CacheError::Store { tier, source: Arc::new(source) }));
                }
            }
        }
        outcome
    }

    /// Writes an artifact that a tier had to the tiers above. A failure is counted, and is no error.
    pub(crate) fn fill_above(&self, key: &PtxKey, found: &Found) {
        for above in self.stack.iter().take(found.tier) {
            drop(self.write_to(above, key, &found.artifact, |counts| &mut counts.fills));
        }
    }

    /// Loads or claims. A failure is counted, and the request goes on as with a miss.
    fn read<R>(
        &self,
        tier: &Tier,
        key: &PtxKey,
        read: impl FnOnce() -> Result<R, StoreError>,
    ) -> Option<R> {
        let started = Instant::now();
        let outcome = read();
        {
            let mut counts = lock(&tier.counts);
            counts.load_time = counts.load_time.saturating_add(started.elapsed());
            counts.load_failures += u64::from(outcome.is_err());
        }
        outcome.map_err(|error| self.failed(tier, key, &*error)).ok()
    }

    fn write_to(
        &self,
        tier: &Tier,
        key: &PtxKey,
        artifact: &PtxArtifact,
        written: impl FnOnce(&mut TierSnapshot) -> &mut u64,
    ) -> Result<(), StoreError> {
        let started = Instant::now();
        let outcome = tier.store.store(key, artifact);
        {
            let mut counts = lock(&tier.counts);
            counts.write_time = counts.write_time.saturating_add(started.elapsed());
            *match &outcome {
                Ok(Stored::Written) => written(&mut counts),
                Ok(Stored::Present) => &mut counts.present,
                Ok(Stored::Skipped) => &mut counts.skipped,
                Err(_) => &mut counts.write_failures,
            } += 1;
        }
        outcome.map(drop).inspect_err(|error| self.failed(tier, key, &**error))
    }

    fn failed(&self, tier: &Tier, key: &PtxKey, error: &(dyn Error + Send + Sync + 'static)) {
        let name = &*tier.name;
        tracing::debug!(tier = name, %key, %error, "a tier failed; the request goes on");
        if let Some(listener) = self.listener.get() {
            listener.notify(&Event::TierFailed { key, tier: name, error });
        }
    }
}
