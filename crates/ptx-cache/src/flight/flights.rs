//! Single flight: however many miss a key at once, one makes the value and the others get what
//! came of it.
//!
//! 1. Who misses asks to [`join`](Flights::join). Under the shard's flight lock it looks into the
//!    table once more, and finds the value, or a flight to wait for, or neither: then it leads a
//!    new flight.
//! 2. The leader makes the value outside every lock, publishes it in the table, and only then
//!    lands the flight. So who finds no flight at step 1 finds the value.
//! 3. Waiters park until the flight lands and take its result. Nobody else waits.
//!
//! A leader that panics lands its flight with an error on the way out, and the panic goes on. A
//! leader that is dropped while it makes nothing, as an async request may be, abandons its flight:
//! its waiters go back to step 1, where one of them leads.

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

use crate::CacheError;
use crate::sync::{Condvar, Mutex, lock, wait};
use crate::flight::waits::{Lead, Refusal, Running, WaitGraph, Waiting};

/// One value being made.
#[derive(Debug)]
pub(crate) struct Flight<V> {
    lead: Arc<Lead>,
    state: Mutex<State<V>>,
    ended: Condvar,
}

#[derive(Debug)]
struct State<V> {
    end: Option<End<V>>,
    /// Of those who wait without a thread, by their numbers.
    wakers: BTreeMap<u64, Waker>,
}

/// How a flight ended.
#[derive(Clone, Debug)]
pub(crate) enum End<V> {
    /// With this result.
    Landed(Result<V, CacheError>),
    /// With none: who still wants the value asks anew.
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
    /// Another makes it.
    Waiting(Arc<Flight<V>>),
    /// The caller makes it.
    Leading(Leading<'f, K, V, S>),
}

/// The duty to end a flight. Dropping it ends the flight as one whose leader panicked, if the
/// making [runs](Self::run) at that time, and abandons it otherwise.
pub(crate) struct Leading<'f, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    flights: &'f Flights<K, V, S>,
    flight: Arc<Flight<V>>,
    key: K,
    runs: bool,
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
                    lead: Lead::begin(),
                    state: Mutex::new(State { end: None, wakers: BTreeMap::new() }),
                    ended: Condvar::new(),
                });
                vacant.insert(Arc::clone(&flight));
                Joined::Leading(Leading { flights: self, flight, key, runs: false, result: None })
            }
        }
    }
}

impl<V: Clone> Flight<V> {
    /// Parks the thread until the flight ends.
    ///
    /// # Errors
    ///
    /// That waiting for it could never end.
    pub(crate) fn end(&self) -> Result<End<V>, CacheError> {
        let _waiting = self.enter()?;
        let mut state = lock(&self.state);
        loop {
            if let Some(end) = &state.end {
                return Ok(end.clone());
            }
            state = wait(&self.ended, state);
        }
    }

    /// Enters that the request that runs in this thread waits for the flight.
    ///
    /// # Errors
    ///
    /// That waiting for it could never end.
    pub(crate) fn enter(&self) -> Result<Waiting<'static>, CacheError> {
        let refused = |refusal| match refusal {
            Refusal::Reentry => CacheError::Reentry,
            Refusal::Deadlock => CacheError::Deadlock,
        };
        WaitGraph::of_process().wait(Lead::running(), &self.lead).map_err(refused)
    }
}

/// A wait without a thread: a future of the flight's end. Dropping it leaves nothing behind.
#[cfg(feature = "async")]
pub(crate) struct Parked<'f, V> {
    flight: &'f Flight<V>,
    number: Option<u64>,
}

#[cfg(feature = "async")]
impl<V> Flight<V> {
    pub(crate) fn park(&self) -> Parked<'_, V> {
        Parked { flight: self, number: None }
    }
}

#[cfg(feature = "async")]
impl<V: Clone> Future for Parked<'_, V> {
    type Output = End<V>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End<V>> {
        let waker = context.waker().clone();
        let mut state = lock(&self.flight.state);
        if let Some(end) = &state.end {
            return Poll::Ready(end.clone());
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

impl<K, V, S> Leading<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    /// Says that the making runs in this thread, until [`pause`](Self::pause) or the end. The
    /// caller keeps what this gives for as long.
    pub(crate) fn run(&mut self) -> Running {
        self.runs = true;
        self.flight.lead.run()
    }

    /// Says that the making does not run now: a drop abandons it.
    #[cfg(feature = "async")]
    pub(crate) fn pause(&mut self, running: Running) {
        self.runs = false;
        drop(running);
    }

    /// Lands the flight: waiters wake with `result`, and the next miss leads a new flight.
    pub(crate) fn land(mut self, result: Result<V, CacheError>) {
        self.result = Some(result);
    }
}

impl<K, V, S> Drop for Leading<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    fn drop(&mut self) {
        let end = match (self.result.take(), self.runs) {
            (Some(result), _) => End::Landed(result),
            (None, true) => End::Landed(Err(CacheError::Panicked)),
            (None, false) => End::Abandoned,
        };
        // First, so that a waiter who asks anew when it wakes does not meet this flight again.
        lock(&self.flights.aloft).remove(&self.key);
        let mut waking = {
            let mut state = lock(&self.flight.state);
            state.end = Some(end);
            Waking(std::mem::take(&mut state.wakers))
        };
        self.flight.ended.notify_all();
        waking.wake_all();
    }
}
