//! Requests of async tasks for a text.
//!
//! Tiers block their thread, so they are asked on the pool of threads of the crate `blocking`,
//! whatever the runtime.

use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use blocking::{Task, unblock};
use ptx_key::PtxKey;
use tracing::Instrument;

use crate::make::lowering_error;
use crate::serve::{made, source_of};
use crate::tiers::{Claims, Found, Tiers, Unwritten};
use crate::flight::waits::Lead;
use crate::{Artifact, CacheError, Lowered, Origin, PtxCache, ServedPtx, Source, WritePolicy};

impl PtxCache {
    /// [`get_or_lower`](Self::get_or_lower) for async tasks, on any runtime or none.
    ///
    /// The tiers are asked on a pool of threads, never on the task's. The request may be dropped
    /// at any time: if it was lowering, one of those who wait takes over with its own `lower`; if
    /// it was writing to the tiers, that goes on without it.
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
        let mut lower = Some(async move || {
            let lowered = lower().await;
            lowered.map(Into::into).map_err(lowering_error)
        });
        if let Some(text) = self.memory().resident(key) {
            if self.verification.is_due()
                && let Some(lower) = lower
            {
                self.verify_async(key, &text, lower()).await;
            }
            return Ok(ServedPtx { text, source: Source::Memory });
        }
        let mut source = Source::Lowered;
        let mut unwritten = None;
        let served = self
            .memory()
            .get_or_try_async(*key, || async {
                match self.find(key).await {
                    Ok(found) => {
                        let (made, tier) = self.loaded(key, &found);
                        source = Source::Tier(tier);
                        unwritten = Some(Unwritten::Found(found));
                        Ok(made)
                    }
                    Err(claims) => {
                        let started = Instant::now();
                        // Taken here only, and a making runs once.
                        let lower = lower.take().ok_or(CacheError::Panicked)?;
                        let span = tracing::debug_span!("lowering", %key);
                        let artifact = self.lowered(lower().instrument(span).await?, started);
                        let made = made(&artifact, self.tiers.keeps(&artifact));
                        unwritten = self.written_first_async(key, artifact, claims).await?;
                        Ok(made)
                    }
                }
            })
            .await?;
        if let Some(unwritten) = unwritten {
            let key = *key;
            self.with_tiers_apart(move |tiers| tiers.catch_up(&key, &unwritten)).await;
        }
        if let (Source::Tier(_), Origin::Made) = (&source, served.origin)
            && self.verification.is_due()
            && let Some(lower) = lower
        {
            self.verify_async(key, &served.value, lower()).await;
        }
        Ok(ServedPtx { text: served.value, source: source_of(served.origin, source) })
    }

    async fn find(&self, key: &PtxKey) -> Result<Found, Claims> {
        let key = *key;
        self.with_tiers_apart(move |tiers| tiers.find(&key)).await
    }

    /// [`written_first`](Self::written_first) for tasks.
    async fn written_first_async(
        &self,
        key: &PtxKey,
        artifact: Artifact,
        claims: Claims,
    ) -> Result<Option<Unwritten>, CacheError> {
        if self.tiers.policy().writes == WritePolicy::Ignore {
            return Ok(Some(Unwritten::New { artifact, _claims: claims }));
        }
        let key = *key;
        self.with_tiers_apart(move |tiers| {
            let _held = claims;
            tiers.write(&key, &artifact)
        })
        .await
        .map(|()| None)
    }

    /// Lowers `key` again and compares with the text that is being served.
    async fn verify_async(
        &self,
        key: &PtxKey,
        served: &str,
        lowering: impl Future<Output = Result<Lowered, CacheError>>,
    ) {
        let span = tracing::debug_span!("lowering", %key, verifies = true);
        let lead = Lead::begin();
        let mut lowering = pin!(lowering.instrument(span));
        let lowered = poll_fn(|context| {
            let _running = lead.run();
            lowering.as_mut().poll(context)
        });
        let lowered = lowered.await;
        self.compare(key, served, lowered);
    }

    /// Runs `work` on the pool of threads, as a part of the making that runs here; or here, where
    /// there are no tiers to wait for. Once begun it is done, even if nobody awaits it any more.
    async fn with_tiers_apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tiers) -> T + Send + 'static,
    ) -> T {
        if self.tiers.is_empty() {
            return work(&self.tiers);
        }
        let tiers = Arc::clone(&self.tiers);
        let lead = Lead::running();
        let apart = unblock(move || {
            let _running = lead.as_ref().map(Lead::run);
            work(&tiers)
        });
        Finished(Some(apart)).await
    }
}

/// Work of the pool that is not cancelled when its request is dropped.
struct Finished<T>(Option<Task<T>>);

impl<T> Future for Finished<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Some(task) => Pin::new(task).poll(context),
            // Only `drop` takes the task.
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Finished<T> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.detach();
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
