//! Requests that make what is not there, once for all who ask.

use std::error::Error;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::counters::Counts;
use crate::flight::{End, Joined, Leading};
use crate::flight::waits::Running;
use crate::{Cache, CacheError, Event, Made, Origin, Served, Weigh};

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// The value of `key`: resident, or from another thread that is making it, or made by `make`.
    ///
    /// `make` runs in this thread, outside every lock. It may ask this or another cache for other
    /// keys.
    ///
    /// # Errors
    ///
    /// `make`'s error as [`CacheError::Lowering`], in this thread and in all that waited for it;
    /// nothing is kept, and the next request makes again, unless the failure is
    /// [remembered](crate::FailureMemory). [`CacheError::Panicked`] to those who waited for a maker
    /// that panicked. [`CacheError::Reentry`] and [`CacheError::Deadlock`] where waiting could never
    /// end.
    ///
    /// # Panics
    ///
    /// Where `make` does, in this thread alone.
    pub fn get_or_make<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<Made<V>, E>,
    ) -> Result<Served<V>, CacheError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.get_or_try(key, || make().map_err(lowering_error))
    }

    /// [`get_or_make`](Self::get_or_make) with an error that is the cache's own.
    pub(crate) fn get_or_try(
        &self,
        key: K,
        make: impl FnOnce() -> Result<Made<V>, CacheError>,
    ) -> Result<Served<V>, CacheError> {
        match self.resident(&key) {
            Some(value) => Ok(Served { value, origin: Origin::Memory }),
            None => self.make_once(key, make),
        }
    }

    #[cold]
    fn make_once(
        &self,
        key: K,
        make: impl FnOnce() -> Result<Made<V>, CacheError>,
    ) -> Result<Served<V>, CacheError> {
        let mut leading = loop {
            match self.join(key)? {
                Joined::Published(value) => return Ok(Served { value, origin: Origin::Memory }),
                Joined::Waiting(flight) => {
                    let waits = self.counts.one_waits();
                    let end = flight.end();
                    drop(waits);
                    if let Some(served) = self.waited(end) {
                        return served;
                    }
                }
                Joined::Leading(leading) => break leading,
            }
        };
        let started = Instant::now();
        let running = leading.run();
        let result = {
            let _unwinds = Unwinds::new(&self.counts);
            make()
        };
        self.finish(key, leading, running, result, started.elapsed())
    }

    /// What a request that missed finds.
    ///
    /// # Errors
    ///
    /// The failure that is remembered of the key.
    pub(crate) fn join(&self, key: K) -> Result<Joined<'_, K, V, S>, CacheError> {
        if let Some(error) = self.failures.recall(&key, Instant::now()) {
            self.counts.lookups.of_thread().missed();
            self.counts.failed.add(1);
            self.counts.recalled.add(1);
            return Err(error);
        }
        // A pin may run what other threads retired, drops of callers' values among it. Pinned
        // here, the look into the table under the flight lock is a nested pin, which never does.
        let _pinned = crossbeam_epoch::pin();
        Ok(self.flights[self.shard_number(self.hash(&key))].join(key, || self.resident(&key)))
    }

    /// What a request gets that waited for a flight; nothing if the flight was abandoned.
    pub(crate) fn waited(
        &self,
        end: Result<End<V>, CacheError>,
    ) -> Option<Result<Served<V>, CacheError>> {
        let result = match end {
            Ok(End::Abandoned) => return None,
            Ok(End::Landed(result)) => result,
            Err(refused) => Err(refused),
        };
        self.counts.lookups.of_thread().missed();
        let counts = &self.counts;
        if result.is_ok() { &counts.coalesced } else { &counts.failed }.add(1);
        Some(result.map(|value| Served { value, origin: Origin::Coalesced }))
    }

    /// Publishes and lands what came of a making. It runs until it has landed: publishing calls
    /// the retention and the listener, and if these ask for the key, that is re-entry.
    pub(crate) fn finish(
        &self,
        key: K,
        leading: Leading<'_, K, V, S>,
        running: Running,
        result: Result<Made<V>, CacheError>,
        took: Duration,
    ) -> Result<Served<V>, CacheError> {
        self.counts.lookups.of_thread().missed();
        match result {
            Ok(made) => {
                self.counts.made.add(1);
                let value = made.value.clone();
                let (bytes, cost) = (value.weight(), made.cost.unwrap_or(took));
                let kept = self.publish(key, made, took);
                leading.land(Ok(value.clone()));
                drop(running);
                self.tell(Event::Made { key: &key, bytes, cost, kept });
                Ok(Served { value, origin: Origin::Made })
            }
            Err(error) => {
                self.counts.failed.add(1);
                if let Some(memory) = &self.config().failures {
                    self.failures.remember(key, &error, memory, Instant::now());
                }
                leading.land(Err(error.clone()));
                drop(running);
                self.tell(Event::Failed { key: &key, error: &error });
                Err(error)
            }
        }
    }
}

/// Counts a making that panics.
pub(crate) struct Unwinds<'c> {
    counts: &'c Counts,
    before: bool,
}

impl<'c> Unwinds<'c> {
    pub(crate) fn new(counts: &'c Counts) -> Self {
        Self { counts, before: std::thread::panicking() }
    }
}

impl Drop for Unwinds<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.before {
            self.counts.lookups.of_thread().missed();
            self.counts.failed.add(1);
        }
    }
}

/// A lowering's own error as the cache's. What the cache said to a request within the lowering,
/// and the lowering passed on, stays as it was.
pub(crate) fn lowering_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
    match error.into().downcast::<CacheError>() {
        Ok(own) => *own,
        Err(error) => CacheError::Lowering(Arc::new(error)),
    }
}
