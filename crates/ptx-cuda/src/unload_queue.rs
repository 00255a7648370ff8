//! Modules that nobody uses any more, until someone unloads them who may wait for the device.
//!
//! A cache retires a module in whichever thread next passes an epoch, which may be one that is
//! launching. To unload may wait for the device. So the drop of a module's last user only puts it
//! here; loads take it out, and whoever asks for it.

mod room;

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

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
    /// `None` once the cache is gone, and with it all who would take something out.
    waiting: Mutex<Option<Vec<Unused<D>>>>,
    /// What can be made to wait here where memory runs out.
    residents: Weak<Residents<D>>,
}

impl<D: Driver> UnloadQueue<D> {
    pub(crate) fn new(residents: Weak<Residents<D>>) -> Self {
        Self { waiting: Mutex::new(Some(Vec::new())), residents }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Vec<Unused<D>>>> {
        // A list is whole at every moment.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a module in. The driver is not called, unless the cache is gone.
    pub(crate) fn push(&self, unused: Unused<D>) {
        if let Some(waiting) = &mut *self.waiting() {
            waiting.push(unused);
            return;
        }
        if crossbeam_epoch::is_pinned() {
            // A cache that is there runs what one that is gone had retired, inside a hit perhaps.
            let thread = std::thread::Builder::new().name("ptx-cuda unload".to_owned());
            // Where no thread can be had, the module went with the closure that was dropped, and
            // stays loaded until its context ends.
            let _ = thread.spawn(|| unused.unload());
        } else {
            unused.unload();
        }
    }

    /// Unloads what waits, each module in its own context; how many.
    pub(crate) fn unload_all(&self) -> usize {
        let waiting = self.waiting().as_mut().map(std::mem::take).unwrap_or_default();
        let count = waiting.len();
        waiting.into_iter().for_each(Unused::unload);
        count
    }

    /// What waits.
    pub(crate) fn content(&self) -> Resident {
        let waiting = self.waiting();
        let waiting = waiting.as_deref().unwrap_or_default();
        let bytes = waiting.iter().fold(0_u64, |sum, unused| sum.saturating_add(unused.bytes));
        Resident { entries: waiting.len() as u64, bytes }
    }

    /// Unloads what waits; what comes later is unloaded by who brings it.
    pub(crate) fn close(&self) {
        collect();
        let waiting = self.waiting().take().unwrap_or_default();
        waiting.into_iter().for_each(Unused::unload);
    }
}

#[cfg(test)]
mod tests;
