//! Who waits for whom, over all caches of the process. A circle of waiters is an error, not a hang.
//!
//! A [`Computation`] computes one value. A request belongs to the computation that its thread or
//! task runs. If another computation requested that one, the request belongs to it too, and so on
//! outwards. While the request waits for a flight, all computations that it belongs to stand still.
//! So a wait can never end if the flight's computation waits, directly or through others, for a
//! computation that the request belongs to. Such a wait is refused.
//!
//! A request that belongs to no computation holds nobody up. It is not recorded and takes no lock
//! here. Work that a computation hands to other threads or tasks, and then awaits, is not seen to
//! belong to it.

use std::cell::RefCell;
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::CacheError;
use crate::sync::{Mutex, lock, thread_local};

/// The computation of one value. Its address is its identity.
#[derive(Debug)]
pub(crate) struct Computation {
    /// The computation that this one was requested in.
    within: Option<Arc<Computation>>,
}

/// A computation that stands still, and the one that it waits for.
type Wait = (Arc<Computation>, Arc<Computation>);

/// A wait that is allowed. It ends when this is dropped. `None` if it is not recorded.
#[derive(Debug)]
pub(crate) struct Waiting(Option<Wait>);

/// The computation runs in this thread until this is dropped.
///
/// Not `Send`: the computation stops running in the thread where it started.
#[derive(Debug)]
pub(crate) struct Running {
    computation: Option<Arc<Computation>>,
    of_thread: PhantomData<*const ()>,
}

impl Running {
    /// Says that `computation`, if there is one, runs in the calling thread.
    pub(crate) fn within(computation: Option<&Arc<Computation>>) -> Self {
        let computation = computation.cloned();
        let pushed = computation.clone().and_then(|computation| {
            RUNNING.try_with(|running| running.borrow_mut().push(computation)).ok()
        });
        Self { computation: computation.filter(|_| pushed.is_some()), of_thread: PhantomData }
    }
}

thread_local! {
    /// The computations that run in this thread, the innermost last.
    #[cfg_attr(not(loom), expect(clippy::missing_const_for_thread_local, reason = "loom has none"))]
    static RUNNING: RefCell<Vec<Arc<Computation>>> = RefCell::new(Vec::new());
}

impl Computation {
    /// A new computation, requested by the one that runs in this thread.
    pub(crate) fn begin() -> Arc<Self> {
        Arc::new(Self { within: Self::running() })
    }

    /// The innermost computation that runs in this thread. `None` in a thread that is being torn
    /// down: it computes nothing more.
    pub(crate) fn running() -> Option<Arc<Self>> {
        RUNNING.try_with(|running| running.borrow().last().cloned()).ok().flatten()
    }

    /// Says that this computation runs in the calling thread until the returned value is dropped.
    pub(crate) fn run(self: &Arc<Self>) -> Running {
        Running::within(Some(self))
    }

    fn belongs_to(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        successors(Some(self), |computation| computation.within.as_ref())
            .any(|computation| Arc::ptr_eq(computation, other))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(computation) = self.computation.take() else { return };
        // Leads of one thread may end in any order, so this may not be the innermost.
        let _ = RUNNING.try_with(|running| {
            let mut running = running.borrow_mut();
            let place = running.iter().rposition(|other| Arc::ptr_eq(other, &computation));
            place.map(|place| running.remove(place))
        });
    }
}

/// The recorded waits of the process.
#[cfg(not(loom))]
fn waits() -> &'static Mutex<Vec<Wait>> {
    static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());
    &WAITS
}

#[cfg(loom)]
fn waits() -> &'static Mutex<Vec<Wait>> {
    loom::lazy_static! {
        static ref WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());
    }
    &WAITS
}

impl Waiting {
    /// Records that a request which belongs to `request` waits for `computation`.
    ///
    /// # Errors
    ///
    /// [`CacheError::Reentry`] if the request belongs to `computation`. [`CacheError::Deadlock`] if
    /// that waits, directly or through others, for one that the request belongs to.
    pub(crate) fn begin(
        request: Option<Arc<Computation>>,
        computation: &Arc<Computation>,
    ) -> Result<Self, CacheError> {
        let Some(request) = request else { return Ok(Self(None)) };
        if request.belongs_to(computation) {
            return Err(CacheError::Reentry);
        }
        let mut waits = lock(waits());
        let mut reached = vec![computation];
        let mut next = 0;
        while let Some(computation) = reached.get(next).copied() {
            if request.belongs_to(computation) {
                return Err(CacheError::Deadlock);
            }
            for (_, awaited) in waits.iter().filter(|(waiter, _)| waiter.belongs_to(computation)) {
                if !reached.iter().any(|known| Arc::ptr_eq(known, awaited)) {
                    reached.push(awaited);
                }
            }
            next += 1;
        }
        let wait = (request, Arc::clone(computation));
        waits.push(wait.clone());
        Ok(Self(Some(wait)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some((request, computation)) = &self.0 else { return };
        let mut waits = lock(waits());
        let same = |wait: &Wait| Arc::ptr_eq(&wait.0, request) && Arc::ptr_eq(&wait.1, computation);
        // Several requests of one computation may wait for the same flight: one of them goes.
        if let Some(position) = waits.iter().position(same) {
            waits.swap_remove(position);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
