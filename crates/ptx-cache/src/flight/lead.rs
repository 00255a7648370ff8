//! Who computes a missing value? A request for a missing key gets the value or becomes the leader.
//!
//! 1. [`Cache::enter`] looks for the value, and waits if another leads the key.
//! 2. Who gets a [`Lead`] computes the value, outside every lock, and ends the flight: with
//!    [`publish`](Lead::publish), with [`fail`](Lead::fail), or by dropping the guard.
//! 3. The waiters wake. After a drop one of them leads, unless the leader panicked.

use std::error::Error;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

use ptx_key::KeyHasher;

use super::flights::{Ending, Joined, Leader};
use super::waits::Running;
use crate::cache::Cache;
use crate::{CacheError, Computed, Event, Served, Source, Weigh};

/// What [`Cache::enter`] found: the value, or the duty to compute it.
#[derive(Debug)]
pub enum Entered<V, L> {
    /// The value: resident, or shared by the leader that computed it.
    Served(Served<V>),
    /// Nobody has it. The caller leads.
    Lead(L),
}

/// The duty of a thread to compute the value of a key, for all that wait for it.
///
/// The computation runs in this thread until the guard is gone. It may ask this or another cache
/// for other keys. A request within it that could never be answered is an error: see
/// [`CacheError::Reentry`] and [`CacheError::Deadlock`].
///
/// Dropping the guard wakes the waiters. If the thread panics, they get [`CacheError::Panicked`].
/// Otherwise one of them leads.
///
/// ```
/// use std::sync::Arc;
/// use ptx_cache::{Cache, Config, Entered, Source};
/// use ptx_key::PtxKey;
///
/// let cache: Cache<PtxKey, Arc<str>> = Cache::new(Config::default());
/// let key = PtxKey::from_bytes([7; 32]);
/// let text = match cache.enter(key)? {
///     Entered::Served(served) => served.value,
///     Entered::Lead(lead) => match String::from_utf8(vec![b'.'; 4]) {
///         Ok(text) => lead.publish(Arc::from(text)).value,
///         Err(error) => return Err(lead.fail(error)),
///     },
/// };
/// assert_eq!(&*text, "....");
/// # Ok::<(), ptx_cache::CacheError>(())
/// ```
#[must_use = "dropping the guard makes a waiter lead"]
pub struct Lead<'c, K: Copy + Eq + Hash + 'static, V: 'static, S: BuildHasher = KeyHasher> {
    // Dropped in this order: the flight ends while the computation still runs here.
    task: TaskLead<'c, K, V, S>,
    running: Running,
}

/// The duty of an async task to compute the value of a key.
///
/// [`run`](Self::run) polls the computation; [`here`](Self::here) then gives the [`Lead`] that ends
/// the flight. Dropping the guard makes a waiter lead. The request's future, and the guard with it,
/// may be dropped at any time.
#[must_use = "dropping the guard makes a waiter lead"]
pub struct TaskLead<'c, K: Copy + Eq + Hash + 'static, V: 'static, S: BuildHasher = KeyHasher> {
    cache: &'c Cache<K, V, S>,
    key: K,
    started: Instant,
    /// Gone once the flight has ended.
    leader: Option<Leader<'c, K, V, S>>,
    /// `Some` while the computation runs in this thread. True if the thread was unwinding before.
    was_unwinding: Option<bool>,
}

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Returns the value of `key`, or the guard of the leader that must compute it. Parks the
    /// thread while another leader computes it.
    ///
    /// # Errors
    ///
    /// The error of the leader that this request waited for, or one that is
    /// [remembered](crate::FailureMemory). [`CacheError::Panicked`] if that leader panicked.
    /// [`CacheError::Reentry`] and [`CacheError::Deadlock`] where waiting could never end.
    #[inline]
    pub fn enter(&self, key: K) -> Result<Entered<V, Lead<'_, K, V, S>>, CacheError> {
        match self.resident(&key) {
            Some(value) => Ok(Entered::Served(Served { value, source: Source::Memory })),
            None => self.enter_missed(key),
        }
    }

    #[cold]
    pub(crate) fn enter_missed(&self, key: K) -> Result<Entered<V, Lead<'_, K, V, S>>, CacheError> {
        loop {
            let flight = match self.join(key)? {
                Joined::Published(value) => {
                    return Ok(Entered::Served(Served { value, source: Source::Memory }));
                }
                Joined::Leading(leader) => {
                    return Ok(Entered::Lead(TaskLead::new(self, key, leader).here()));
                }
                Joined::Waiting(flight) => flight,
            };
            let waits = self.counts.one_waits();
            let ending = flight.wait();
            drop(waits);
            if let Some(shared) = self.shared(ending) {
                return shared.map(Entered::Served);
            }
        }
    }

    /// Returns the value of `key`, computed by `compute` if nobody has it.
    ///
    /// `compute` runs in this thread, outside every lock: [`enter`](Self::enter) with a closure.
    ///
    /// # Errors
    ///
    /// Those of [`enter`](Self::enter), and `compute`'s error as [`CacheError::Lowering`]. Nothing
    /// is kept then, and the next request computes again, unless the failure is remembered.
    ///
    /// # Panics
    ///
    /// Panics if `compute` panics. Waiters get [`CacheError::Panicked`].
    pub fn get_or_compute<E>(
        &self,
        key: K,
        compute: impl FnOnce() -> Result<Computed<V>, E>,
    ) -> Result<Served<V>, CacheError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match self.enter(key)? {
            Entered::Served(served) => Ok(served),
            Entered::Lead(lead) => match compute() {
                Ok(computed) => Ok(lead.publish(computed)),
                Err(error) => Err(lead.fail(error)),
            },
        }
    }

    /// What a request that missed finds.
    ///
    /// # Errors
    ///
    /// The remembered failure of `key`.
    pub(super) fn join(&self, key: K) -> Result<Joined<'_, K, V, S>, CacheError> {
        // A leader under the settings before may remember a failure after they changed.
        if let Some(error) = self.failures.recall(&key, Instant::now())
            && self.config().failures.is_some()
        {
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

    /// What a request gets that waited for a flight. Returns `None` if the leader gave up.
    pub(super) fn shared(
        &self,
        ending: Result<Ending<V>, CacheError>,
    ) -> Option<Result<Served<V>, CacheError>> {
        let result = match ending {
            Ok(Ending::Abandoned) => return None,
            Ok(Ending::Landed(result)) => result,
            Err(refused) => Err(refused),
        };
        self.counts.lookups.of_thread().missed();
        let counts = &self.counts;
        if result.is_ok() { &counts.shared } else { &counts.failed }.add(1);
        Some(result.map(|value| Served { value, source: Source::Shared }))
    }
}

impl<'c, K, V, S> TaskLead<'c, K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    pub(super) fn new(cache: &'c Cache<K, V, S>, key: K, leader: Leader<'c, K, V, S>) -> Self {
        let started = Instant::now();
        Self { cache, key, started, leader: Some(leader), was_unwinding: None }
    }

    /// Says that the computation runs in the calling thread until the returned value is dropped.
    pub(super) fn resume(&mut self) -> Running {
        self.was_unwinding = Some(std::thread::panicking());
        Running::within(self.leader.as_ref().map(Leader::computation))
    }

    /// Says that the computation does not run now: dropping the guard makes a waiter lead.
    #[cfg(feature = "async")]
    pub(super) fn pause(&mut self, running: Running) {
        self.was_unwinding = None;
        drop(running);
    }

    /// The same duty, for the calling thread to end.
    pub fn here(mut self) -> Lead<'c, K, V, S> {
        let running = self.resume();
        Lead { task: self, running }
    }
}

impl<K, V, S> Lead<'_, K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Publishes the value, wakes the waiters with it, and returns it as computed.
    ///
    /// Publishing may call the retention and the listener. If these ask for the key, that is
    /// re-entry: the computation runs until the flight has landed.
    pub fn publish(self, computed: impl Into<Computed<V>>) -> Served<V> {
        // In an unwinding `task` drops first, while the computation still runs here.
        let Self { running, mut task } = self;
        let (cache, key) = (task.cache, task.key);
        let computed = computed.into();
        let (took, value) = (task.started.elapsed(), computed.value.clone());
        let (bytes, cost) = (value.weight(), computed.cost.unwrap_or(took));
        let kept = cache.publish(key, computed, took);
        // After the retention ran: if it panics, the drop counts a failure.
        cache.counts.lookups.of_thread().missed();
        cache.counts.computed.add(1);
        task.land(Ok(value.clone()));
        drop(running);
        cache.notify(Event::Computed { key: &key, bytes, cost, kept });
        Served { value, source: Source::Computed }
    }

    /// Wakes the waiters with an error, and returns it. The error is
    /// [remembered](crate::FailureMemory) if the settings say so.
    pub fn fail(self, error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
        let Self { running, mut task } = self;
        let (cache, key) = (task.cache, task.key);
        let error = CacheError::of_lowering(error);
        if let Some(memory) = &cache.config().failures {
            cache.failures.remember(key, &error, memory, Instant::now());
        }
        cache.counts.lookups.of_thread().missed();
        cache.counts.failed.add(1);
        task.land(Err(error.clone()));
        drop(running);
        cache.notify(Event::Failed { key: &key, error: &error });
        error
    }

    /// The time since the caller became the leader.
    pub fn elapsed(&self) -> Duration {
        self.task.started.elapsed()
    }
}

impl<K: Copy + Eq + Hash, V, S: BuildHasher> TaskLead<'_, K, V, S> {
    fn land(&mut self, result: Result<V, CacheError>) {
        if let Some(leader) = self.leader.take() {
            leader.land(result);
        }
    }
}

impl<K: Copy + Eq + Hash, V, S: BuildHasher> Drop for TaskLead<'_, K, V, S> {
    fn drop(&mut self) {
        let unwinds = self.was_unwinding == Some(false) && std::thread::panicking();
        if unwinds && self.leader.is_some() {
            self.cache.counts.lookups.of_thread().missed();
            self.cache.counts.failed.add(1);
            self.land(Err(CacheError::Panicked));
        }
    }
}
