//! Who waits for whom, over all caches of the process, so that a circle of waiters is an error
//! and not a hang.
//!
//! A thread that makes a value leads a flight. A thread that waits for a flight waits for its
//! leader. A thread waits for at most one flight at a time, so following "waits for" from any
//! thread is a walk along a line; a wait that would close the line to a circle is refused.
//! A leader that finished is not waited for, even if its waiters have not woken yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// A thread, told apart from every other that ever ran in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiter(u64);

/// The leading of one flight.
#[derive(Debug)]
pub(crate) struct Lead {
    leader: Waiter,
    finished: AtomicBool,
}

/// Why a thread may not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The thread leads the flight that it would wait for.
    Reentry,
    /// The flight's leader waits, over others or directly, for a flight that the thread leads.
    Circle,
}

/// A wait that is allowed; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'g> {
    graph: &'g WaitGraph,
    waiter: Waiter,
}

/// The waits of a process.
#[derive(Debug)]
pub(crate) struct WaitGraph {
    waits_for: Mutex<BTreeMap<Waiter, Arc<Lead>>>,
}

impl Waiter {
    /// The calling thread.
    pub(crate) fn current() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        crate::sync::thread_local! {
            // Relaxed: only distinctness matters.
            static CURRENT: Waiter = Waiter(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        // A thread that is being torn down gets a new number: it leads and awaits nothing else.
        CURRENT
            .try_with(|waiter| *waiter)
            .unwrap_or_else(|_| Self(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Lead {
    pub(crate) fn new(leader: Waiter) -> Self {
        Self { leader, finished: AtomicBool::new(false) }
    }

    /// The leader makes nothing more for this flight. Called before the leader waits for anything
    /// else.
    pub(crate) fn finish(&self) {
        // Relaxed is enough: a walk that could wrongly pass through this lead must have seen a
        // later wait of the leader, which was entered under the graph's lock.
        self.finished.store(true, Ordering::Relaxed);
    }
}

impl WaitGraph {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self { waits_for: Mutex::new(BTreeMap::new()) }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { waits_for: Mutex::new(BTreeMap::new()) }
    }

    /// The one graph of the process.
    #[cfg(not(loom))]
    pub(crate) fn of_process() -> &'static Self {
        static GRAPH: WaitGraph = WaitGraph::new();
        &GRAPH
    }

    #[cfg(loom)]
    pub(crate) fn of_process() -> &'static Self {
        loom::lazy_static! {
            static ref GRAPH: WaitGraph = WaitGraph::new();
        }
        &GRAPH
    }

    /// Enters that `waiter` waits for `lead`, unless that wait could never end.
    pub(crate) fn wait(&self, waiter: Waiter, lead: &Arc<Lead>) -> Result<Waiting<'_>, Refusal> {
        if lead.leader == waiter {
            return Err(Refusal::Reentry);
        }
        let mut waits_for = lock(&self.waits_for);
        let mut next = Some(lead);
        while let Some(lead) = next {
            if lead.leader == waiter {
                return Err(Refusal::Circle);
            }
            next =
                waits_for.get(&lead.leader).filter(|lead| !lead.finished.load(Ordering::Relaxed));
        }
        waits_for.insert(waiter, Arc::clone(lead));
        Ok(Waiting { graph: self, waiter })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.graph.waits_for).remove(&self.waiter);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn lead(leader: u64) -> Arc<Lead> {
        Arc::new(Lead::new(Waiter(leader)))
    }

    #[test]
    fn waiting_for_oneself_is_reentry() {
        let graph = WaitGraph::new();
        assert_eq!(graph.wait(Waiter(1), &lead(1)).unwrap_err(), Refusal::Reentry);
    }

    #[test]
    fn the_wait_that_closes_a_circle_is_refused_and_none_before_it() {
        let graph = WaitGraph::new();
        let (one, two, three) = (lead(1), lead(2), lead(3));
        let _first = graph.wait(Waiter(1), &two).unwrap();
        let _second = graph.wait(Waiter(2), &three).unwrap();
        assert_eq!(graph.wait(Waiter(3), &one).unwrap_err(), Refusal::Circle);
        assert!(graph.wait(Waiter(4), &one).is_ok());
    }

    #[test]
    fn a_wait_that_ended_closes_no_circle() {
        let graph = WaitGraph::new();
        drop(graph.wait(Waiter(1), &lead(2)).unwrap());
        assert!(graph.wait(Waiter(2), &lead(1)).is_ok());
    }

    #[test]
    fn a_waiter_that_has_not_woken_from_a_finished_flight_closes_no_circle() {
        let graph = WaitGraph::new();
        let done = lead(2);
        let _asleep = graph.wait(Waiter(1), &done).unwrap();
        done.finish();
        assert!(graph.wait(Waiter(2), &lead(1)).is_ok());
    }

    #[test]
    fn each_thread_is_its_own_waiter() {
        let here = Waiter::current();
        assert_eq!(here, Waiter::current());
        assert_ne!(here, std::thread::spawn(Waiter::current).join().unwrap());
    }
}
