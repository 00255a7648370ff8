//! Single flight: of all requests that miss a key at once, one leads and the others wait for its
//! result.
//!
//! 1. A request that misses [`join`](Flights::join)s. Under the shard's flight lock it looks into
//!    the table once more. It finds the value, or a flight to wait for, or neither: then it leads
//!    a new flight.
//! 2. The leader computes the value outside every lock, publishes it in the table, and only then
//!    lands the flight. So a request that finds no flight at step 1 finds the value.
//! 3. Waiters park until the flight lands, and take its result. Nobody else waits.
//!
//! A leader that is dropped before it lands abandons its flight: the waiters go back to step 1,
//! where one of them leads.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
#[cfg(feature = "async")]
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
#[cfg(feature = "async")]
use std::task::{Context, Poll};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::waits::{Computation, Waiting};
use crate::CacheError;
use crate::sync::{Condvar, Mutex, lock, wait};

/// The computation of one value, and those who wait for it.
#[derive(Debug)]
pub(crate) struct Flight<V> {
    computation: Arc<Computation>,
    state: Mutex<State<V>>,
    ended: Condvar,
}

#[derive(Debug)]
struct State<V> {
    ending: Option<Ending<V>>,
    /// The wakers of waiting tasks, by number.
    wakers: BTreeMap<u64, Waker>,
}

/// How a flight ended.
#[derive(Clone, Debug)]
pub(crate) enum Ending<V> {
    /// With this result.
    Landed(Result<V, CacheError>),
    /// It ended without a result. A waiter leads.
    Abandoned,
}

/// The flights of one shard's keys.
#[derive(Debug)]
pub(crate) struct Flights<K, V, S> {
    aloft: Mutex<HashMap<K, Arc<Flight<V>>, S>>,
}

/// What a request that missed finds.
pub(crate) enum Joined<'f, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    /// The value was published in the meantime.
    Published(V),
    /// Another request leads.
    Waiting(Arc<Flight<V>>),
    /// The caller leads.
    Leading(Leader<'f, K, V, S>),
}

/// The duty to end a flight. Dropping it abandons the flight.
pub(crate) struct Leader<'f, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    flights: &'f Flights<K, V, S>,
    flight: Arc<Flight<V>>,
    result: Option<Result<V, CacheError>>,
}

impl<K, V, S> Flights<K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    pub(crate) fn new(hasher: S) -> Self {
        Self { aloft: Mutex::new(HashMap::with_hasher(hasher)) }
    }

    /// See step 1 of the module's protocol. `published` looks into the table.
    pub(crate) fn join(
        &self,
        key: K,
        published: impl FnOnce() -> Option<V>,
    ) -> Joined<'_, K, V, S> {
        let mut aloft = lock(&self.aloft);
        if let Some(value) = published() {
            return Joined::Published(value);
        }
        match aloft.entry(key) {
            Entry::Occupied(flight) => Joined::Waiting(Arc::clone(flight.get())),
            Entry::Vacant(vacant) => {
                let flight = Arc::new(Flight {
                    computation: Computation::begin(),
                    state: Mutex::new(State { ending: None, wakers: BTreeMap::new() }),
                    ended: Condvar::new(),
                });
                vacant.insert(Arc::clone(&flight));
                Joined::Leading(Leader { flights: self, flight, result: None })
            }
        }
    }
}

impl<V: Clone> Flight<V> {
    /// Parks the thread until the flight ends.
    ///
    /// # Errors
    ///
    /// [`CacheError::Reentry`] or [`CacheError::Deadlock`] if waiting could never end.
    pub(crate) fn wait(&self) -> Result<Ending<V>, CacheError> {
        let _waiting = Waiting::begin(Computation::running(), &self.computation)?;
        let mut state = lock(&self.state);
        loop {
            if let Some(ending) = &state.ending {
                return Ok(ending.clone());
            }
            state = wait(&self.ended, state);
        }
    }
}

/// A wait without a thread: a future of the flight's end. Dropping it leaves nothing behind.
#[cfg(feature = "async")]
struct Parked<'f, V> {
    flight: &'f Flight<V>,
    number: Option<u64>,
}

#[cfg(feature = "async")]
impl<V: Clone> Flight<V> {
    /// Waits until the flight ends, as a task.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    pub(crate) async fn wait_async(&self) -> Result<Ending<V>, CacheError> {
        let _waiting = Waiting::begin(Computation::running(), &self.computation)?;
        Ok(Parked { flight: self, number: None }.await)
    }
}

#[cfg(feature = "async")]
impl<V: Clone> Future for Parked<'_, V> {
    type Output = Ending<V>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ending<V>> {
        let waker = context.waker().clone();
        let mut state = lock(&self.flight.state);
        if let Some(ending) = &state.ending {
            return Poll::Ready(ending.clone());
        }
        let last = state.wakers.last_key_value();
        let number = self.number.or(last.map(|(last, _)| last + 1)).unwrap_or(0);
        let before = state.wakers.insert(number, waker);
        drop(state);
        // Only now: a waker's drop is the runtime's code.
        drop(before);
        self.number = Some(number);
        Poll::Pending
    }
}

#[cfg(feature = "async")]
impl<V> Drop for Parked<'_, V> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = lock(&self.flight.state).wakers.remove(&number);
            drop(waker);
        }
    }
}

/// Wakers that are all woken, even if one of them panics.
struct Waking(BTreeMap<u64, Waker>);

impl Waking {
    fn wake_all(&mut self) {
        while let Some((_, waker)) = self.0.pop_first() {
            waker.wake();
        }
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        self.wake_all();
    }
}

impl<K, V, S> Leader<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    /// The computation that the leader runs.
    pub(crate) fn computation(&self) -> &Arc<Computation> {
        &self.flight.computation
    }

    /// Lands the flight: the waiters wake with `result`, and the next miss leads a new flight.
    pub(crate) fn land(mut self, result: Result<V, CacheError>) {
        self.result = Some(result);
    }
}

impl<K, V, S> Drop for Leader<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    fn drop(&mut self) {
        let ending = self.result.take().map_or(Ending::Abandoned, Ending::Landed);
        // First, so that a waiter who wakes and joins again does not meet this flight. A search by
        // key would hash it: code of the caller that may panic, and then nobody would wake.
        lock(&self.flights.aloft).retain(|_, other| !Arc::ptr_eq(other, &self.flight));
        let mut waking = {
            let mut state = lock(&self.flight.state);
            state.ending = Some(ending);
            Waking(std::mem::take(&mut state.wakers))
        };
        self.flight.ended.notify_all();
        waking.wake_all();
    }
}

#[cfg(test)]
#[cfg(loom)]
mod tests;
