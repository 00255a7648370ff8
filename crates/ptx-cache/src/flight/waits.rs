//! Who waits for whom, over all caches of the process, so that a circle of waiters is an error
//! and not a hang.
//!
//! A [`Lead`] is one making of one value. A request that is made within a making, by the thread or
//! the async task that runs it, belongs to that lead, and through it to the lead that the making
//! was itself requested in, and so on outwards. While such a request waits for a flight, all leads
//! that it belongs to stand still. So a wait for a flight can never end if, from that flight's
//! lead, following "a request that belongs to this lead waits for that one" leads to a lead that
//! the new request belongs to. Such a wait is refused.
//!
//! A request that belongs to no lead holds nobody up, is not entered, and takes no lock here. Work
//! that a making hands to other threads or tasks, and then awaits, is not seen to belong to it.

use std::cell::RefCell;
use std::iter::successors;
use std::sync::Arc;

use crate::sync::{Mutex, lock, thread_local};

/// One making of one value, told apart from every other by its address.
#[derive(Debug)]
pub(crate) struct Lead {
    /// The lead that this making was requested in.
    within: Option<Arc<Lead>>,
}

/// Why a request may not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It belongs to the lead that it would wait for.
    Reentry,
    /// That lead waits, over others or directly, for one that the request belongs to.
    Deadlock,
}

/// A wait that is allowed; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'g> {
    graph: &'g WaitGraph,
    /// The lead that the request belongs to, and the one it waits for; none if it is not entered.
    wait: Option<(Arc<Lead>, Arc<Lead>)>,
}

/// The waits of a process that hold leads up.
#[derive(Debug)]
pub(crate) struct WaitGraph {
    waits: Mutex<Vec<(Arc<Lead>, Arc<Lead>)>>,
}

/// The making runs in this thread until this is dropped.
pub(crate) struct Running {
    before: Option<Arc<Lead>>,
}

thread_local! {
    /// The innermost making that runs in this thread.
    #[cfg_attr(not(loom), expect(clippy::missing_const_for_thread_local, reason = "loom has none"))]
    static RUNNING: RefCell<Option<Arc<Lead>>> = RefCell::new(None);
}

impl Lead {
    /// A new making, requested where the calling thread stands.
    pub(crate) fn begin() -> Arc<Self> {
        Arc::new(Self { within: Self::running() })
    }

    /// The innermost making that runs in this thread. None in a thread that is being torn down,
    /// which makes nothing more.
    pub(crate) fn running() -> Option<Arc<Self>> {
        RUNNING.try_with(|running| running.borrow().clone()).ok().flatten()
    }

    /// Says that this making runs in the calling thread from now on.
    pub(crate) fn run(self: &Arc<Self>) -> Running {
        Running { before: replace_running(Some(Arc::clone(self))) }
    }

    fn belongs_to(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        successors(Some(self), |lead| lead.within.as_ref()).any(|lead| Arc::ptr_eq(lead, other))
    }
}

fn replace_running(lead: Option<Arc<Lead>>) -> Option<Arc<Lead>> {
    RUNNING.try_with(|running| running.replace(lead)).ok().flatten()
}

impl Drop for Running {
    fn drop(&mut self) {
        replace_running(self.before.take());
    }
}

impl WaitGraph {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self { waits: Mutex::new(Vec::new()) }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { waits: Mutex::new(Vec::new()) }
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

    /// Enters that a request which belongs to `request` waits for `lead`, unless that wait could
    /// never end.
    pub(crate) fn wait(
        &self,
        request: Option<Arc<Lead>>,
        lead: &Arc<Lead>,
    ) -> Result<Waiting<'_>, Refusal> {
        let Some(request) = request else { return Ok(Waiting { graph: self, wait: None }) };
        if request.belongs_to(lead) {
            return Err(Refusal::Reentry);
        }
        let mut waits = lock(&self.waits);
        let mut reached = vec![lead];
        let mut next = 0;
        while let Some(lead) = reached.get(next).copied() {
            if request.belongs_to(lead) {
                return Err(Refusal::Deadlock);
            }
            for (_, awaited) in waits.iter().filter(|(waiter, _)| waiter.belongs_to(lead)) {
                if !reached.iter().any(|known| Arc::ptr_eq(known, awaited)) {
                    reached.push(awaited);
                }
            }
            next += 1;
        }
        let wait = (request, Arc::clone(lead));
        waits.push(wait.clone());
        Ok(Waiting { graph: self, wait: Some(wait) })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some((request, lead)) = &self.wait else { return };
        let mut waits = lock(&self.graph.waits);
        let same = |wait: &(Arc<Lead>, Arc<Lead>)| {
            Arc::ptr_eq(&wait.0, request) && Arc::ptr_eq(&wait.1, lead)
        };
        // Several requests of one lead may wait for the same flight: one of them goes.
        if let Some(position) = waits.iter().position(same) {
            waits.swap_remove(position);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn within(lead: &Arc<Lead>) -> Arc<Lead> {
        Arc::new(Lead { within: Some(Arc::clone(lead)) })
    }

    #[test]
    fn waiting_for_a_making_from_within_it_is_reentry() {
        let graph = WaitGraph::new();
        let outer = Lead::begin();
        let inner = within(&within(&outer));
        assert_eq!(graph.wait(Some(outer.clone()), &outer).unwrap_err(), Refusal::Reentry);
        assert_eq!(graph.wait(Some(inner), &outer).unwrap_err(), Refusal::Reentry);
    }

    #[test]
    fn the_wait_that_closes_a_circle_is_refused_and_none_before_it() {
        let graph = WaitGraph::new();
        let (one, two, three) = (Lead::begin(), Lead::begin(), Lead::begin());
        let _first = graph.wait(Some(one.clone()), &two).unwrap();
        let _second = graph.wait(Some(two), &three).unwrap();
        assert_eq!(graph.wait(Some(three.clone()), &one).unwrap_err(), Refusal::Deadlock);
        assert_eq!(graph.wait(Some(within(&three)), &one).unwrap_err(), Refusal::Deadlock);
        assert!(graph.wait(None, &one).is_ok());
        assert!(graph.wait(Some(Lead::begin()), &one).is_ok());
    }

    #[test]
    fn a_circle_is_seen_through_the_makings_that_a_waiter_is_within() {
        let graph = WaitGraph::new();
        let (one, two) = (Lead::begin(), Lead::begin());
        let _deep = graph.wait(Some(within(&within(&one))), &two).unwrap();
        assert_eq!(graph.wait(Some(within(&two)), &one).unwrap_err(), Refusal::Deadlock);
    }

    #[test]
    fn siblings_of_one_making_may_wait_for_each_other() {
        let graph = WaitGraph::new();
        let outer = Lead::begin();
        let sibling = within(&outer);
        assert!(graph.wait(Some(outer), &sibling).is_ok());
    }

    #[test]
    fn a_wait_that_ended_closes_no_circle() {
        let graph = WaitGraph::new();
        let (one, two) = (Lead::begin(), Lead::begin());
        let first = graph.wait(Some(one.clone()), &two).unwrap();
        let again = graph.wait(Some(one.clone()), &two).unwrap();
        drop(first);
        assert_eq!(graph.wait(Some(two.clone()), &one).unwrap_err(), Refusal::Deadlock);
        drop(again);
        assert!(graph.wait(Some(two), &one).is_ok());
    }

    #[test]
    fn the_running_making_is_the_innermost_and_only_in_its_thread() {
        let (outer, inner) = (Lead::begin(), Lead::begin());
        let is_running =
            |lead: &Arc<Lead>| Lead::running().is_some_and(|it| Arc::ptr_eq(&it, lead));
        let _outer = outer.run();
        {
            let _inner = inner.run();
            assert!(is_running(&inner));
        }
        assert!(is_running(&outer));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(Lead::running().is_none()));
        });
    }
}
