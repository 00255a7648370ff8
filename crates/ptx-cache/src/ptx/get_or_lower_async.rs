//! A request of an async task for a text: the steps of `get_or_lower.rs`, with awaits.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ptx_key::PtxKey;
use tracing::Instrument;

use super::ptx_cache::PtxCache;
use super::tiers::Find;
use crate::{CacheError, Entered, PtxArtifact, Served, Source};

impl PtxCache {
    /// [`get_or_lower`](Self::get_or_lower) for async tasks, on any runtime or none.
    ///
    /// Tiers are loaded, claimed and written on a pool of threads. The release of a claim may run
    /// on the task's thread. The request may be dropped at any time. If it was lowering, a waiter
    /// lowers in its place; if it was writing to the tiers, the write goes on.
    ///
    /// # Errors
    ///
    /// See [`get_or_lower`](Self::get_or_lower).
    ///
    /// # Panics
    ///
    /// Panics if `lower` panics. Waiters get [`CacheError::Panicked`].
    pub async fn get_or_lower_async<F, L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> F,
    ) -> Result<Served<Arc<PtxArtifact>>, CacheError>
    where
        F: Future<Output = Result<L, E>>,
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        // `lead.run` polls this block, so it also covers what `lower` does before it returns its
        // future.
        let lowering = async { lower().await };
        if let Some(artifact) = self.memory().resident(key) {
            if self.verified_share.is_due() {
                self.verify_async(key, &artifact, lowering).await;
            }
            return Ok(Served { value: artifact, source: Source::Memory });
        }
        let mut lead = match self.memory().enter_async(*key).await? {
            Entered::Served(served) => return Ok(served),
            Entered::Lead(lead) => lead,
        };
        let claims = match lead.run(self.tiers.find_async(*key)).await {
            Find::Absent(claims) => claims,
            Find::Found(found) => {
                let name = Arc::clone(&found.name);
                let served = lead.here().publish(self.loaded(key, &found));
                self.tiers.fill_above_async(*key, found).await;
                if self.verified_share.is_due() {
                    self.verify_async(key, &served, lowering).await;
                }
                return Ok(Served { source: Source::Tier(name), ..served });
            }
        };
        let started = Instant::now();
        let span = tracing::debug_span!("lowering", %key);
        let artifact = match lead.run(lowering.instrument(span)).await {
            Ok(lowered) => self.lowered(lowered.into(), started.elapsed()),
            Err(error) => {
                drop(claims);
                return Err(lead.here().fail(error));
            }
        };
        if self.tiers.must_keep() {
            let write = self.tiers.write_async(*key, Arc::clone(&artifact.value), claims);
            if let Err(error) = lead.run(write).await {
                return Err(lead.here().fail(error));
            }
            return Ok(lead.here().publish(artifact));
        }
        let served = lead.here().publish(artifact);
        // A failure is counted, and is no error.
        drop(self.tiers.write_async(*key, Arc::clone(&served), claims).await);
        Ok(served)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
