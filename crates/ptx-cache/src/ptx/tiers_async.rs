//! The tiers for async tasks: asked on the thread pool of the crate `blocking`, since a tier blocks
//! its thread.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use blocking::{Task, unblock};
use ptx_key::PtxKey;

use super::tiers::{Claims, Find, Found, Tiers};
use crate::flight::Computation;
use crate::{CacheError, PtxArtifact};

impl Tiers {
    /// [`find`](Self::find) for tasks.
    pub(super) async fn find_async(self: &Arc<Self>, key: PtxKey) -> Find {
        self.on_pool(move |tiers| tiers.find(&key)).await
    }

    /// [`write`](Self::write) for tasks. Drops the claims after it.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub(super) async fn write_async(
        self: &Arc<Self>,
        key: PtxKey,
        artifact: Arc<PtxArtifact>,
        claims: Claims,
    ) -> Result<(), CacheError> {
        self.on_pool(move |tiers| {
            let _held = claims;
            tiers.write(&key, &artifact)
        })
        .await
    }

    /// [`fill_above`](Self::fill_above) for tasks.
    pub(super) async fn fill_above_async(self: &Arc<Self>, key: PtxKey, found: Found) {
        self.on_pool(move |tiers| tiers.fill_above(&key, &found)).await;
    }

    /// Runs `work` on the pool, as a part of the computation that runs here. Without tiers there is
    /// nothing to wait for, and it runs here. Once started, it ends even if nobody awaits it.
    async fn on_pool<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        if self.is_empty() {
            return work(self);
        }
        let tiers = Arc::clone(self);
        let computation = Computation::running();
        let task = unblock(move || {
            let _running = computation.as_ref().map(Computation::run);
            work(&tiers)
        });
        Uncancelled(Some(task)).await
    }
}

/// Work on the pool that goes on when its request is dropped.
struct Uncancelled<T>(Option<Task<T>>);

impl<T> Future for Uncancelled<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Some(task) => Pin::new(task).poll(context),
            // Only `drop` takes the task.
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Uncancelled<T> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.detach();
        }
    }
}
