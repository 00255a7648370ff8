//! Requests of async tasks, on any runtime or none.

use std::error::Error;
use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::pin::pin;
use std::time::Instant;

use crate::flight::{End, Flight, Joined};
use crate::make::{Unwinds, lowering_error};
use crate::{Cache, CacheError, Made, Origin, Served, Weigh};

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// [`get_or_make`](Self::get_or_make) for async tasks: `make` is polled as part of this
    /// request, and who waits for it holds no thread.
    ///
    /// Tasks and threads wait for each other's makings alike. A request may be dropped at any
    /// time: if it was making the value, one of those who wait takes over with its own `make`.
    /// A thread that waits, with [`get_or_make`](Self::get_or_make), for a making that only this
    /// same thread would poll waits for ever: tasks should use this call. So does a task that holds
    /// a request which makes, polls it no more, and awaits another for the same key.
    ///
    /// # Errors
    ///
    /// See [`get_or_make`](Self::get_or_make).
    ///
    /// # Panics
    ///
    /// Where `make` does, in this task alone.
    pub async fn get_or_make_async<F, E>(
        &self,
        key: K,
        make: impl FnOnce() -> F,
    ) -> Result<Served<V>, CacheError>
    where
        F: Future<Output = Result<Made<V>, E>>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let make = || async { make().await.map_err(lowering_error) };
        self.get_or_try_async(key, make).await
    }

    /// [`get_or_make_async`](Self::get_or_make_async) with an error that is the cache's own.
    pub(crate) async fn get_or_try_async<F>(
        &self,
        key: K,
        make: impl FnOnce() -> F,
    ) -> Result<Served<V>, CacheError>
    where
        F: Future<Output = Result<Made<V>, CacheError>>,
    {
        if let Some(value) = self.resident(&key) {
            return Ok(Served { value, origin: Origin::Memory });
        }
        let mut leading = loop {
            match self.join(key)? {
                Joined::Published(value) => return Ok(Served { value, origin: Origin::Memory }),
                Joined::Waiting(flight) => {
                    let waits = self.counts.one_waits();
                    let end = end_of(&flight).await;
                    drop(waits);
                    if let Some(served) = self.waited(end) {
                        return served;
                    }
                }
                Joined::Leading(leading) => break leading,
            }
        };
        let started = Instant::now();
        let mut making = pin!(make());
        let result = poll_fn(|context| {
            let running = leading.run();
            let unwinds = Unwinds::new(&self.counts);
            let polled = making.as_mut().poll(context);
            drop(unwinds);
            leading.pause(running);
            polled
        })
        .await;
        let running = leading.run();
        self.finish(key, leading, running, result, started.elapsed())
    }
}

async fn end_of<V: Clone>(flight: &Flight<V>) -> Result<End<V>, CacheError> {
    let _waiting = flight.enter()?;
    Ok(flight.park().await)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
