//! A request for a text, from memory to the lowering and back.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_key::PtxKey;

use super::ptx_cache::PtxCache;
use super::tiers::{Find, Found};
use crate::sync::lock;
use crate::{CacheError, Computed, Entered, Event, PtxArtifact, Served, Source};

impl PtxCache {
    /// Returns the text of `key`: from memory, from a tier, from another leader, or from `lower`.
    ///
    /// `lower` runs in this thread, outside every lock, and may ask for other keys. It returns a
    /// `String`, an `Arc<str>`, or a [`PtxArtifact`] with attributes and the key's trace.
    ///
    /// Others who wait for the same text get it at once. This call then writes it to the tiers
    /// that lack it, and returns. If the [`WritePolicy`](crate::WritePolicy) makes a failed write
    /// an error, the others wait for the write too.
    ///
    /// # Errors
    ///
    /// See [`Cache::get_or_compute`](crate::Cache::get_or_compute). [`CacheError::Store`] if a tier
    /// failed to keep a new artifact and the write policy says that it must.
    ///
    /// # Panics
    ///
    /// Panics if `lower` panics. Waiters get [`CacheError::Panicked`].
    #[inline]
    pub fn get_or_lower<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Served<Arc<PtxArtifact>>, CacheError>
    where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let Some(artifact) = self.memory().resident(key) else {
            return self.load_or_lower(key, lower);
        };
        if self.verified_share.is_due() {
            self.verify(key, &artifact, lower);
        }
        Ok(Served { value: artifact, source: Source::Memory })
    }

    /// A request that missed: it enters the flight, asks the tiers, lowers, publishes, and writes to
    /// the tiers that lack the artifact.
    #[cold]
    fn load_or_lower<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Served<Arc<PtxArtifact>>, CacheError>
    where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let lead = match self.memory().enter_missed(*key)? {
            Entered::Served(served) => return Ok(served),
            Entered::Lead(lead) => lead,
        };
        let claims = match self.tiers.find(key) {
            Find::Absent(claims) => claims,
            Find::Found(found) => {
                let served = lead.publish(self.loaded(key, &found));
                self.tiers.fill_above(key, &found);
                if self.verified_share.is_due() {
                    self.verify(key, &served, lower);
                }
                return Ok(Served { source: Source::Tier(found.name), ..served });
            }
        };
        let started = Instant::now();
        let lowered = {
            let _span = tracing::debug_span!("lowering", %key).entered();
            lower()
        };
        let artifact = match lowered {
            Ok(lowered) => self.lowered(lowered.into(), started.elapsed()),
            Err(error) => {
                // First, so that the waiter who leads next can claim the key.
                drop(claims);
                return Err(lead.fail(error));
            }
        };
        if self.tiers.must_keep() {
            let written = self.tiers.write(key, &artifact.value);
            drop(claims);
            return match written {
                Ok(()) => Ok(lead.publish(artifact)),
                Err(error) => Err(lead.fail(error)),
            };
        }
        let served = lead.publish(artifact);
        // A failure is counted, and is no error.
        drop(self.tiers.write(key, &served));
        drop(claims);
        Ok(served)
    }

    /// Lowers a request that has no key (see `KeyError::Unkeyable`). Nothing is looked up and
    /// nothing is kept. The request is counted.
    ///
    /// # Errors
    ///
    /// `lower`'s own.
    pub fn lower_unkeyed<L, E>(
        &self,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<PtxArtifact, CacheError>
    where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        lock(&self.counts).unkeyed += 1;
        lower().map(Into::into).map_err(CacheError::of_lowering)
    }

    /// Counts an artifact that a tier had, and returns what memory keeps of it.
    pub(super) fn loaded(&self, key: &PtxKey, found: &Found) -> Computed<Arc<PtxArtifact>> {
        {
            let saved = &mut lock(&self.counts).lowering_saved_by_tiers;
            *saved = saved.saturating_add(found.artifact.cost);
        }
        self.memory().notify(Event::Loaded { key, tier: &found.name });
        if let Some(took) = found.took {
            self.memory().note_load(took);
        }
        Computed::artifact(found.artifact.clone(), true)
    }

    /// Counts a lowering that took this time, and returns what memory keeps of it.
    pub(super) fn lowered(
        &self,
        mut artifact: PtxArtifact,
        took: Duration,
    ) -> Computed<Arc<PtxArtifact>> {
        {
            let mut counts = lock(&self.counts);
            counts.lowered += 1;
            counts.lowering_paid = counts.lowering_paid.saturating_add(took);
        }
        if artifact.cost.is_zero() {
            artifact.cost = took;
        }
        let in_lower_tier = self.tiers.keeps(&artifact);
        Computed::artifact(artifact, in_lower_tier)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
