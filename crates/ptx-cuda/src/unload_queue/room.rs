//! What is done where the driver runs out of memory.

use std::thread;
use std::time::Duration;

use super::{UnloadQueue, collect};
use crate::{CudaError, Driver};

/// How often it is looked whether other threads have looked away from what was taken out, and the
/// time between: a tenth of a second in all. They look for as long as a hit takes.
const LOOKS: u32 = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

impl<D: Driver> UnloadQueue<D> {
    /// Calls the driver, which may need `bytes` of a device's memory. Where memory ran out, once
    /// more with the memory of what is retired, and then with that of ever more residents which
    /// nobody uses.
    ///
    /// A module may be loaded lazily: then memory runs out when a function is looked up.
    pub(crate) fn with_room<T>(
        &self,
        device: u32,
        bytes: u64,
        call: impl Fn() -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let ran_out =
            |result: &Result<T, CudaError>| result.as_ref().is_err_and(CudaError::is_out_of_memory);
        let mut result = call();
        if ran_out(&result) {
            self.unload_retired();
            result = call();
        }
        let mut bytes = bytes.max(1);
        while ran_out(&result) && self.unload_idle(device, bytes) {
            bytes = bytes.saturating_mul(2);
            result = call();
        }
        result
    }

    /// Unloads what is retired as far as other threads allow; how many.
    pub(crate) fn unload_retired(&self) -> usize {
        collect();
        self.unload_all()
    }

    /// Takes `bytes` of residents that nobody uses out of the cache, and unloads them; whether
    /// there were any.
    fn unload_idle(&self, device: u32, bytes: u64) -> bool {
        // What a thread takes out while it looks at a cache cannot be dropped.
        let Some(residents) = self.residents.upgrade().filter(|_| !crossbeam_epoch::is_pinned())
        else {
            return false;
        };
        let shed =
            residents.shed(bytes, |key, outcome| key.context.device == device && outcome.is_idle());
        let mut unloaded = 0;
        for _ in 0..LOOKS {
            unloaded += self.unload_retired() as u64;
            if unloaded >= shed.entries {
                break;
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        shed.entries > 0
    }
}
