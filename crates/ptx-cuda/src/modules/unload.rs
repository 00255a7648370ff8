//! Where modules without users wait to be unloaded.
//!
//! An unload may wait for the device. A cache retires a module in any thread that next passes an
//! epoch, and that thread may be launching. So the drop of a module's last user only queues it. The
//! next load unloads it, or a caller that asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ptx_cache::Size;

use crate::{Context, Driver};

/// A module without users.
pub(crate) struct Unused<D: Driver> {
    pub(crate) context: Context<D>,
    pub(crate) module: D::Module,
    pub(crate) bytes: u64,
}

impl<D: Driver> Unused<D> {
    /// Unloads the module before its context, of which this may be the last clone.
    pub(crate) fn unload(self) {
        self.context.unload(self.module);
    }
}

/// Drops what caches retired, as far as other threads allow.
fn collect() {
    // Retired values are dropped two epochs later, and a flush advances by one at most.
    for _ in 0..3 {
        crossbeam_epoch::pin().flush();
    }
}

/// Lets any thread drop what this one retired. A thread keeps up to 64 retired values to itself,
/// which may be all of a device's memory.
pub(crate) fn share_retired() {
    crossbeam_epoch::pin().flush();
}

/// The modules of one cache that wait to be unloaded.
pub(crate) struct UnloadQueue<D: Driver>(Mutex<Waiting<D>>);

struct Waiting<D: Driver> {
    unused: Vec<Unused<D>>,
    unloader: Unloader,
}

/// Who unloads the modules that wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unloader {
    /// The next load.
    Load,
    /// The next push: the cache is gone.
    Push,
    /// A thread that runs until nothing waits.
    Thread,
}

impl<D: Driver> UnloadQueue<D> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Waiting { unused: Vec::new(), unloader: Unloader::Load }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<D>> {
        // No change of the list is half done where a panic can strike.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a module. Calls the driver only if the cache is gone.
    pub(crate) fn push(self: &Arc<Self>, unused: Unused<D>) {
        let mut waiting = self.waiting();
        waiting.unused.push(unused);
        if waiting.unloader != Unloader::Push {
            return;
        }
        if !crossbeam_epoch::is_pinned() {
            drop(waiting);
            self.unload_all();
            return;
        }
        // A pinned thread may be in a hit of another cache, which drops what this one retired.
        waiting.unloader = Unloader::Thread;
        drop(waiting);
        let queue = Arc::clone(self);
        let thread = thread::Builder::new().name("ptx-cuda unload".to_owned());
        if thread.spawn(move || queue.unload_late()).is_err() {
            // The next push unloads this module too.
            self.waiting().unloader = Unloader::Push;
        }
    }

    /// Unloads all modules that wait, until none is left.
    fn unload_late(&self) {
        loop {
            let mut waiting = self.waiting();
            let unused = std::mem::take(&mut waiting.unused);
            if unused.is_empty() {
                waiting.unloader = Unloader::Push;
                return;
            }
            drop(waiting);
            unused.into_iter().for_each(Unused::unload);
        }
    }

    /// Unloads the modules that wait, and returns their number.
    fn unload_all(&self) -> usize {
        let unused = std::mem::take(&mut self.waiting().unused);
        let count = unused.len();
        unused.into_iter().for_each(Unused::unload);
        count
    }

    /// Unloads retired modules as far as other threads allow, and returns their number.
    pub(crate) fn unload_retired(&self) -> usize {
        collect();
        self.unload_all()
    }

    /// The number and bytes of the modules that wait.
    pub(crate) fn content(&self) -> Size {
        let Waiting { unused, .. } = &*self.waiting();
        let bytes = unused.iter().fold(0_u64, |sum, unused| sum.saturating_add(unused.bytes));
        Size { entries: unused.len() as u64, bytes }
    }

    /// Unloads the modules that wait. Later ones are unloaded by their push.
    pub(crate) fn close(&self) {
        // First, while a drop only queues: a push in this pinned thread would start a thread.
        collect();
        self.waiting().unloader = Unloader::Push;
        self.unload_all();
    }
}

#[cfg(test)]
mod tests;
