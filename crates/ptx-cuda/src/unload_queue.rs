//! Modules that nobody uses any more, until someone unloads them who may wait for the device.
//!
//! A cache retires a module in whichever thread next passes an epoch, which may be one that is
//! launching. To unload may wait for the device. So the drop of a module's last user only puts it
//! here; loads take it out, and whoever asks for it.

mod room;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use ptx_cache::Resident;

use crate::residents::Residents;
use crate::{Context, Driver};

/// A module whose last user has dropped.
pub(crate) struct Unused<D: Driver> {
    pub(crate) context: Context<D>,
    pub(crate) module: D::Module,
    pub(crate) bytes: u64,
}

impl<D: Driver> Unused<D> {
    /// The module goes before its context, of which this may hold the last clone.
    pub(crate) fn unload(self) {
        self.context.unload(self.module);
    }
}

/// Has what caches retired dropped as far as other threads allow.
pub(crate) fn collect() {
    // Retired values are freed two epochs later, and a flush moves on by one at most.
    for _ in 0..3 {
        crossbeam_epoch::pin().flush();
    }
}

/// Lets any thread drop what this one has retired. A thread keeps what it retires to itself until
/// it is 64 values, which may be all of a device's memory, and it may never come to that.
pub(crate) fn share_retired() {
    crossbeam_epoch::pin().flush();
}

/// The modules of one cache that wait to be unloaded.
pub(crate) struct UnloadQueue<D: Driver> {
    waiting: Mutex<Waiting<D>>,
    /// What can be made to wait here where memory runs out.
    residents: Weak<Residents<D>>,
}

struct Waiting<D: Driver> {
    unused: Vec<Unused<D>>,
    unloader: Unloader,
}

/// Who takes out what waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unloader {
    /// Who loads.
    Cache,
    /// Who puts something in: the cache is gone.
    Anyone,
    /// A thread that was started for it, until nothing waits any more.
    Thread,
}

impl<D: Driver> UnloadQueue<D> {
    pub(crate) fn new(residents: Weak<Residents<D>>) -> Self {
        let waiting = Waiting { unused: Vec::new(), unloader: Unloader::Cache };
        Self { waiting: Mutex::new(waiting), residents }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<D>> {
        // A list is whole at every moment.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a module in. The driver is not called, unless the cache is gone.
    pub(crate) fn push(self: &Arc<Self>, unused: Unused<D>) {
        let mut waiting = self.waiting();
        waiting.unused.push(unused);
        if waiting.unloader != Unloader::Anyone {
            return;
        }
        if !crossbeam_epoch::is_pinned() {
            drop(waiting);
            self.unload_all();
            return;
        }
        // A cache that is there runs what one that is gone had retired, inside a hit perhaps.
        waiting.unloader = Unloader::Thread;
        drop(waiting);
        let queue = Arc::clone(self);
        let thread = thread::Builder::new().name("ptx-cuda unload".to_owned());
        if thread.spawn(move || queue.unload_late()).is_err() {
            // The next who puts something in takes this out too.
            self.waiting().unloader = Unloader::Anyone;
        }
    }

    /// Unloads what waits, and what is put in meanwhile.
    fn unload_late(&self) {
        loop {
            let mut waiting = self.waiting();
            let unused = std::mem::take(&mut waiting.unused);
            if unused.is_empty() {
                waiting.unloader = Unloader::Anyone;
                return;
            }
            drop(waiting);
            unused.into_iter().for_each(Unused::unload);
        }
    }

    /// Unloads what waits, each module in its own context; how many.
    pub(crate) fn unload_all(&self) -> usize {
        let unused = std::mem::take(&mut self.waiting().unused);
        let count = unused.len();
        unused.into_iter().for_each(Unused::unload);
        count
    }

    /// What waits.
    pub(crate) fn content(&self) -> Resident {
        let Waiting { unused, .. } = &*self.waiting();
        let bytes = unused.iter().fold(0_u64, |sum, unused| sum.saturating_add(unused.bytes));
        Resident { entries: unused.len() as u64, bytes }
    }

    /// Unloads what waits; what comes later is unloaded by who brings it.
    pub(crate) fn close(&self) {
        collect();
        self.waiting().unloader = Unloader::Anyone;
        self.unload_all();
    }
}

#[cfg(test)]
mod tests;
