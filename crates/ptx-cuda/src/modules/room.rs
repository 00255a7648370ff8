//! What a cache does where the driver runs out of memory.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::unload::UnloadQueue;
use crate::{CudaError, Driver};

/// Evicts modules that nobody uses.
pub(crate) trait EvictIdle: Send + Sync {
    /// Evicts idle modules of a device until `bytes` are free, in the eviction order. Returns the
    /// number of victims.
    fn evict_idle(&self, device: u32, bytes: u64) -> u64;
}

/// Unloads modules where memory ran out, and retries.
pub(crate) struct Room<D: Driver> {
    queue: Arc<UnloadQueue<D>>,
    residents: Weak<dyn EvictIdle>,
}

/// A victim is dropped when no hit of another thread reads it, and a hit is short: a tenth of a
/// second is ample.
const TRIES: u32 = 1000;
const BETWEEN_TRIES: Duration = Duration::from_micros(100);

impl<D: Driver> Room<D> {
    pub(crate) fn new(residents: Weak<dyn EvictIdle>) -> Arc<Self> {
        Arc::new(Self { queue: Arc::new(UnloadQueue::new()), residents })
    }

    /// Calls the driver, which may need `bytes` of a device's memory. Where memory runs out, it
    /// unloads the retired modules and retries, and then evicts idle modules, twice as many bytes
    /// each time.
    ///
    /// The driver may load a module lazily: then memory runs out in the lookup of a function.
    pub(crate) fn retry<T>(
        &self,
        device: u32,
        bytes: u64,
        call: impl Fn() -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let ran_out =
            |result: &Result<T, CudaError>| result.as_ref().is_err_and(CudaError::is_out_of_memory);
        let mut result = call();
        if ran_out(&result) {
            self.queue.unload_retired();
            result = call();
        }
        let mut bytes = bytes.max(1);
        while ran_out(&result) && self.unload_idle(device, bytes) {
            bytes = bytes.saturating_mul(2);
            result = call();
        }
        result
    }

    /// The modules that wait to be unloaded.
    pub(crate) fn queue(&self) -> &Arc<UnloadQueue<D>> {
        &self.queue
    }

    /// Evicts and unloads `bytes` of idle modules. Returns false if there were none.
    fn unload_idle(&self, device: u32, bytes: u64) -> bool {
        // A pinned thread keeps its own victims from being dropped.
        let residents = self.residents.upgrade().filter(|_| !crossbeam_epoch::is_pinned());
        let victims = residents.map_or(0, |residents| residents.evict_idle(device, bytes));
        let mut unloaded = 0;
        for _ in 0..TRIES {
            if unloaded >= victims {
                break;
            }
            unloaded += self.queue.unload_retired() as u64;
            if unloaded < victims {
                thread::sleep(BETWEEN_TRIES);
            }
        }
        victims > 0
    }
}
