//! Async tasks that ask for a missing key, on any runtime or none.

use std::error::Error;
use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::pin::pin;

use super::flights::Joined;
use super::lead::{Entered, TaskLead};
use crate::cache::Cache;
use crate::{CacheError, Computed, Served, Source, Weigh};

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// [`enter`](Self::enter) for async tasks: it waits for another leader without a thread.
    ///
    /// Tasks and threads wait for each other's computations. The future may be dropped at any time.
    /// A thread waits for ever if it calls [`enter`](Self::enter) for a computation that only it
    /// would poll. So use this call in tasks. A task waits for ever if it holds an unpolled request
    /// that leads a key, and awaits another request for that key.
    ///
    /// # Errors
    ///
    /// See [`enter`](Self::enter).
    pub async fn enter_async(
        &self,
        key: K,
    ) -> Result<Entered<V, TaskLead<'_, K, V, S>>, CacheError> {
        if let Some(value) = self.resident(&key) {
            return Ok(Entered::Served(Served { value, source: Source::Memory }));
        }
        loop {
            let flight = match self.join(key)? {
                Joined::Published(value) => {
                    return Ok(Entered::Served(Served { value, source: Source::Memory }));
                }
                Joined::Leading(leader) => {
                    return Ok(Entered::Lead(TaskLead::new(self, key, leader)));
                }
                Joined::Waiting(flight) => flight,
            };
            let waits = self.counts.one_waits();
            let ending = flight.wait_async().await;
            drop(waits);
            if let Some(shared) = self.shared(ending) {
                return shared.map(Entered::Served);
            }
        }
    }

    /// [`get_or_compute`](Self::get_or_compute) for async tasks: `compute` is polled as part of
    /// this request. If the request is dropped while it computes, a waiter computes in its place.
    ///
    /// # Errors
    ///
    /// See [`get_or_compute`](Self::get_or_compute).
    ///
    /// # Panics
    ///
    /// Panics if `compute` panics. Waiters get [`CacheError::Panicked`].
    pub async fn get_or_compute_async<F, E>(
        &self,
        key: K,
        compute: impl FnOnce() -> F,
    ) -> Result<Served<V>, CacheError>
    where
        F: Future<Output = Result<Computed<V>, E>>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match self.enter_async(key).await? {
            Entered::Served(served) => Ok(served),
            Entered::Lead(mut lead) => match lead.run(async { compute().await }).await {
                Ok(computed) => Ok(lead.here().publish(computed)),
                Err(error) => Err(lead.here().fail(error)),
            },
        }
    }
}

impl<K, V, S> TaskLead<'_, K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Polls the computation, or a part of it. A request that it makes belongs to it, so that
    /// waiting that could never end is an error.
    pub async fn run<F: Future>(&mut self, computation: F) -> F::Output {
        let mut computation = pin!(computation);
        poll_fn(|context| {
            let running = self.resume();
            let polled = computation.as_mut().poll(context);
            self.pause(running);
            polled
        })
        .await
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
