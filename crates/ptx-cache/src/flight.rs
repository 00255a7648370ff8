//! Single flight: however many threads miss a key at once, one makes the value and the others
//! get what came of it.
//!
//! 1. A thread that misses asks to [`join`](Flights::join). Under the shard's flight lock it looks
//!    into the table once more, and finds the value, or a flight to wait for, or neither: then it
//!    leads a new flight.
//! 2. The leader makes the value outside every lock, publishes it in the table, and only then
//!    lands the flight. So a thread that finds no flight at step 1 finds the value.
//! 3. Waiters park until the flight lands and take its result. Nobody else waits.
//!
//! A leader that panics lands its flight with an error on the way out, and the panic goes on.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::CacheError;
use crate::sync::{Condvar, Mutex, lock, wait};
use crate::waits::{Lead, Refusal, WaitGraph, Waiter};

/// One value being made.
#[derive(Debug)]
pub(crate) struct Flight<V> {
    lead: Arc<Lead>,
    landed: Mutex<Option<Result<V, CacheError>>>,
    landing: Condvar,
}

/// The flights of one shard's keys.
#[derive(Debug)]
pub(crate) struct Flights<K, V, S> {
    aloft: Mutex<HashMap<K, Arc<Flight<V>>, S>>,
}

/// What a thread that missed finds.
pub(crate) enum Joined<'f, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    /// The value was published in the meantime.
    Published(V),
    /// Another thread makes it.
    Waiting(Arc<Flight<V>>),
    /// The caller makes it.
    Leading(Leading<'f, K, V, S>),
}

/// The duty to land a flight. Dropping it lands the flight as one whose leader panicked.
pub(crate) struct Leading<'f, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    flights: &'f Flights<K, V, S>,
    flight: Arc<Flight<V>>,
    key: K,
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
                    lead: Arc::new(Lead::new(Waiter::current())),
                    landed: Mutex::new(None),
                    landing: Condvar::new(),
                });
                vacant.insert(Arc::clone(&flight));
                Joined::Leading(Leading { flights: self, flight, key })
            }
        }
    }
}

impl<V: Clone> Flight<V> {
    /// Parks until the flight lands, and gives a copy of its result.
    ///
    /// # Errors
    ///
    /// The flight's own error, or that waiting for it could never end.
    pub(crate) fn result(&self) -> Result<V, CacheError> {
        let _waiting =
            WaitGraph::of_process().wait(Waiter::current(), &self.lead).map_err(|refusal| {
                match refusal {
                    Refusal::Reentry => CacheError::Reentry,
                    Refusal::Circle => CacheError::Circle,
                }
            })?;
        let mut landed = lock(&self.landed);
        loop {
            if let Some(result) = &*landed {
                return result.clone();
            }
            landed = wait(&self.landing, landed);
        }
    }
}

impl<K, V, S> Leading<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    /// Lands the flight: waiters wake with `result`, and the next miss leads a new flight.
    pub(crate) fn land(self, result: Result<V, CacheError>) {
        self.set(result);
    }

    fn set(&self, result: Result<V, CacheError>) {
        self.flight.lead.finish();
        lock(&self.flight.landed).get_or_insert(result);
        self.flight.landing.notify_all();
    }
}

impl<K, V, S> Drop for Leading<'_, K, V, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    fn drop(&mut self) {
        // After `land` this changes nothing: the first result stays.
        self.set(Err(CacheError::Panicked));
        lock(&self.flights.aloft).remove(&self.key);
    }
}
