//! The tiers beneath memory: asked from the fastest down, filled from below, written after a
//! lowering.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ptx_key::PtxKey;

use crate::counters::Count;
use crate::{Artifact, CacheError, Claim, Event, Listener, Store, StoreError};

/// Whose failure to keep a new artifact is the caller's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WritePolicy {
    /// Nobody's: a failed write is counted and the caller gets its text.
    #[default]
    Ignore,
    /// The fastest tier's.
    FirstTier,
    /// Any tier's.
    All,
}

/// What is written to the tiers, and whose failure counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierPolicy {
    /// Whose failure to keep a new artifact is the caller's error.
    pub writes: WritePolicy,
    /// A lowering that took less is not written to any tier: where lowering again is cheaper than
    /// looking below, the tiers would only fill up. Zero, the default, writes everything.
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
    not_admitted: Count,
    listener: OnceLock<Arc<dyn Listener<PtxKey>>>,
}

struct Tier {
    store: Arc<dyn Store>,
    counts: TierCounts,
}

#[derive(Default)]
struct TierCounts {
    hits: Count,
    misses: Count,
    fills: Count,
    writes: Count,
    load_failures: Count,
    write_failures: Count,
    load_nanos: Count,
    write_nanos: Count,
}

/// What one tier did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TierSnapshot {
    /// The tier's name.
    pub name: String,
    /// Requests that it served.
    pub hits: u64,
    /// Requests that it had nothing for.
    pub misses: u64,
    /// Artifacts of a lower tier that were written to it.
    pub fills: u64,
    /// New artifacts that were written to it.
    pub writes: u64,
    /// Loads and claims that failed; each went on as a miss.
    pub load_failures: u64,
    /// Writes that failed.
    pub write_failures: u64,
    /// Damaged artifacts that it set aside.
    pub quarantined: u64,
    /// Time in its loads and claims.
    pub load_time: Duration,
    /// Time in its writes.
    pub write_time: Duration,
}

/// An artifact that a tier had.
pub(crate) struct Found {
    pub(crate) artifact: Artifact,
    pub(crate) tier: usize,
    /// What the tier's load took; nothing if another process published it meanwhile.
    pub(crate) took: Option<Duration>,
}

/// Claims on a key in every tier that coordinates; released when dropped.
pub(crate) struct Claims {
    _held: Vec<Box<dyn Send>>,
}

/// What the tiers are still to get of an artifact that memory has.
pub(crate) enum Unwritten {
    /// It is new: every tier is. The claims keep other processes waiting until then.
    New { artifact: Artifact, _claims: Claims },
    /// A tier had it: those above that one are.
    Found(Found),
}

impl Tiers {
    pub(crate) fn new(stores: Vec<Arc<dyn Store>>, policy: TierPolicy) -> Self {
        let tier = |store| Tier { store, counts: TierCounts::default() };
        Self {
            stack: stores.into_iter().map(tier).collect(),
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

    pub(crate) fn policy(&self) -> TierPolicy {
        **self.policy.load()
    }

    /// Artifacts that were too cheap to be written.
    pub(crate) fn not_admitted(&self) -> u64 {
        self.not_admitted.get()
    }

    /// The first listener stays.
    pub(crate) fn with_listener(&self, listener: Arc<dyn Listener<PtxKey>>) {
        let _ = self.listener.set(listener);
    }

    pub(crate) fn name(&self, tier: usize) -> &str {
        self.stack.get(tier).map_or("", |tier| tier.store.name())
    }

    pub(crate) fn snapshots(&self) -> Vec<TierSnapshot> {
        self.stack.iter().map(Tier::snapshot).collect()
    }

    pub(crate) fn clear_counts(&self) {
        self.stack.iter().for_each(|tier| tier.counts.clear());
        self.not_admitted.clear();
    }

    /// The artifact from the fastest tier that has it; or claims on `key` in every tier that
    /// coordinates, to be held until the tiers have it.
    pub(crate) fn find(&self, key: &PtxKey) -> Result<Found, Claims> {
        match self.load(key) {
            Some(found) => Ok(found),
            None => match self.claim(key) {
                Ok(claims) => Err(claims),
                Err(found) => Ok(found),
            },
        }
    }

    fn load(&self, key: &PtxKey) -> Option<Found> {
        self.stack.iter().enumerate().find_map(|(number, tier)| {
            let started = Instant::now();
            let artifact = self.load_from(tier, key)?;
            Some(Found { artifact, tier: number, took: Some(started.elapsed()) })
        })
    }

    /// Claims `key` in every tier, from the fastest down, unless a tier has the artifact by then.
    fn claim(&self, key: &PtxKey) -> Result<Claims, Found> {
        let mut held = Vec::new();
        for (number, tier) in self.stack.iter().enumerate() {
            match self.claim_in(tier, key) {
                Claim::Held(claim) => held.push(claim),
                Claim::Published(artifact) => {
                    return Err(Found { artifact, tier: number, took: None });
                }
                Claim::Unheld => {}
            }
        }
        Ok(Claims { _held: held })
    }

    /// Whether a tier keeps a new artifact once [`write`](Self::write) has given it to all.
    pub(crate) fn keeps(&self, artifact: &Artifact) -> bool {
        artifact.cost >= self.policy().least_cost
            && self.stack.iter().any(|tier| tier.store.is_writable())
    }

    /// Writes a new artifact to every tier, unless it was too cheap.
    ///
    /// # Errors
    ///
    /// The first failure that the policy does not ignore, after every tier was tried.
    pub(crate) fn write(&self, key: &PtxKey, artifact: &Artifact) -> Result<(), CacheError> {
        let policy = self.policy();
        if artifact.cost < policy.least_cost {
            self.not_admitted.add(1);
            return Ok(());
        }
        let mut outcome = Ok(());
        for (number, tier) in self.stack.iter().enumerate() {
            let Err(source) = self.write_to(tier, key, artifact, &tier.counts.writes) else {
                continue;
            };
            let counts = match policy.writes {
                WritePolicy::Ignore => false,
                WritePolicy::FirstTier => number == 0,
                WritePolicy::All => true,
            };
            if counts && outcome.is_ok() {
                let tier = tier.store.name().to_owned();
                outcome = Err(CacheError::Store { tier, source: Arc::new(source) });
            }
        }
        outcome
    }

    /// Takes `key` out of every tier.
    ///
    /// # Errors
    ///
    /// The first failure, after every tier was tried.
    pub(crate) fn remove(&self, key: &PtxKey) -> Result<bool, CacheError> {
        let mut outcome = Ok(false);
        for tier in &self.stack {
            match tier.store.remove(key) {
                Ok(removed) => outcome = outcome.map(|before| before || removed),
                Err(source) => {
                    let tier = tier.store.name().to_owned();
                    outcome =
                        outcome.and(Err(CacheError::Store { tier, source: Arc::new(source) }));
                }
            }
        }
        outcome
    }

    /// Gives the tiers what they do not have yet, when nobody waits for it any more. A failure is
    /// counted and told of, and is nobody's error.
    pub(crate) fn catch_up(&self, key: &PtxKey, unwritten: &Unwritten) {
        match unwritten {
            Unwritten::New { artifact, .. } => drop(self.write(key, artifact)),
            Unwritten::Found(Found { artifact, tier, .. }) => {
                for above in self.stack.iter().take(*tier) {
                    drop(self.write_to(above, key, artifact, &above.counts.fills));
                }
            }
        }
    }

    fn load_from(&self, tier: &Tier, key: &PtxKey) -> Option<Artifact> {
        let loaded = timed(&tier.counts.load_nanos, || tier.store.load(key));
        let artifact = loaded.unwrap_or_else(|error| {
            self.failed(tier, key, &tier.counts.load_failures, &*error);
            None
        });
        let counts = &tier.counts;
        if artifact.is_some() { &counts.hits } else { &counts.misses }.add(1);
        artifact
    }

    fn claim_in(&self, tier: &Tier, key: &PtxKey) -> Claim {
        let claim = timed(&tier.counts.load_nanos, || tier.store.claim(key));
        let claim = claim.unwrap_or_else(|error| {
            self.failed(tier, key, &tier.counts.load_failures, &*error);
            Claim::Unheld
        });
        if matches!(claim, Claim::Published(_)) {
            // The load before the claim counted this request as a miss.
            tier.counts.misses.take_back();
            tier.counts.hits.add(1);
        }
        claim
    }

    fn write_to(
        &self,
        tier: &Tier,
        key: &PtxKey,
        artifact: &Artifact,
        done: &Count,
    ) -> Result<(), StoreError> {
        let outcome = timed(&tier.counts.write_nanos, || tier.store.store(key, artifact));
        match &outcome {
            Ok(()) => done.add(1),
            Err(error) => self.failed(tier, key, &tier.counts.write_failures, &**error),
        }
        outcome
    }

    fn failed(
        &self,
        tier: &Tier,
        key: &PtxKey,
        count: &Count,
        error: &(dyn Error + Send + Sync + 'static),
    ) {
        count.add(1);
        let name = tier.store.name();
        tracing::debug!(tier = name, %key, %error, "a tier failed; the request goes on");
        if let Some(listener) = self.listener.get() {
            listener.hear(&Event::TierFailed { key, tier: name, error });
        }
    }
}

impl TierCounts {
    fn clear(&self) {
        let all = [
            &self.hits,
            &self.misses,
            &self.fills,
            &self.writes,
            &self.load_failures,
            &self.write_failures,
            &self.load_nanos,
            &self.write_nanos,
        ];
        all.into_iter().for_each(Count::clear);
    }
}

impl Tier {
    fn snapshot(&self) -> TierSnapshot {
        let counts = &self.counts;
        TierSnapshot {
            name: self.store.name().to_owned(),
            hits: counts.hits.get(),
            misses: counts.misses.get(),
            fills: counts.fills.get(),
            writes: counts.writes.get(),
            load_failures: counts.load_failures.get(),
            write_failures: counts.write_failures.get(),
            quarantined: self.store.quarantined(),
            load_time: Duration::from_nanos(counts.load_nanos.get()),
            write_time: Duration::from_nanos(counts.write_nanos.get()),
        }
    }
}

fn timed<R>(nanos: &Count, work: impl FnOnce() -> R) -> R {
    let started = Instant::now();
    let result = work();
    nanos.add(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    result
}
