//! Requests of async tasks for a text.
//!
//! Tiers block their thread, so they are asked on the pool of threads of the crate `blocking`,
//! whatever the runtime.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use blocking::unblock;
use ptx_key::PtxKey;
use tracing::Instrument;

use crate::make::lowering_error;
use crate::serve::{Unwritten, made, source_of};
use crate::tiers::{Claims, Found};
use crate::{CacheError, Lowered, PtxCache, ServedPtx, Source, WritePolicy};

impl PtxCache {
    /// [`get_or_lower`](Self::get_or_lower) for async tasks, on any runtime or none.
    ///
    /// The tiers are asked on a pool of threads, never on the task's. The request may be dropped
    /// at any time: if it was lowering, one of those who wait takes over with its own `lower`.
    ///
    /// # Errors
    ///
    /// See [`get_or_lower`](Self::get_or_lower).
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this task alone.
    pub async fn get_or_lower_async<F, L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> F,
    ) -> Result<Arc<str>, CacheError>
    where
        F: Future<Output = Result<L, E>>,
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve_async(key, lower).await.map(|served| served.text)
    }

    /// [`get_or_lower_async`](Self::get_or_lower_async), saying where the text came from.
    ///
    /// # Errors
    ///
    /// The same.
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this task alone.
    pub async fn serve_async<F, L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> F,
    ) -> Result<ServedPtx, CacheError>
    where
        F: Future<Output = Result<L, E>>,
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let span = || tracing::debug_span!("lowering", %key);
        let lower =
            || async { lower().instrument(span()).await.map(Into::into).map_err(lowering_error) };
        if let Some(text) = self.memory().resident(key) {
            if self.verification.is_due() {
                self.compare(key, &text, lower().await);
            }
            return Ok(ServedPtx { text, source: Source::Memory });
        }
        let mut source = Source::Lowered;
        let mut unwritten = None;
        let make = || async {
            match self.find(key).await {
                Ok(found) => {
                    let (made, tier) = self.loaded(key, &found);
                    if self.verification.is_due() {
                        self.compare(key, &made.value, lower().await);
                    }
                    source = Source::Tier(tier);
                    Ok(made)
                }
                Err(claims) => {
                    let started = Instant::now();
                    let artifact = self.lowered(lower().await?, started);
                    let made = made(&artifact);
                    let new = Unwritten { artifact, claims };
                    if self.tiers.policy().writes == WritePolicy::Ignore {
                        unwritten = Some(new);
                    } else {
                        self.write(key, new).await?;
                    }
                    Ok(made)
                }
            }
        };
        let served = self.memory().get_or_try_async(*key, make).await?;
        if let Some(unwritten) = unwritten {
            // A failure is counted and told of, and the policy says that it is not an error.
            let _ = self.write(key, unwritten).await;
        }
        Ok(ServedPtx { text: served.value, source: source_of(served.origin, source) })
    }

    async fn find(&self, key: &PtxKey) -> Result<Found, Claims> {
        if self.tiers.is_empty() {
            return self.tiers.find(key);
        }
        let (tiers, key) = (Arc::clone(&self.tiers), *key);
        unblock(move || tiers.find(&key)).await
    }

    async fn write(&self, key: &PtxKey, unwritten: Unwritten) -> Result<(), CacheError> {
        if self.tiers.is_empty() {
            return Ok(());
        }
        let (tiers, key) = (Arc::clone(&self.tiers), *key);
        unblock(move || {
            let Unwritten { artifact, claims: _held } = &unwritten;
            tiers.write(&key, artifact)
        })
        .await
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
