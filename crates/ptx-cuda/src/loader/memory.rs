//! What is done where the driver runs out of memory.

use std::thread;
use std::time::Duration;

use super::Loader;
use crate::{Context, CudaError, Driver, Image, Module};

/// How often it is looked whether other threads have looked away from what was taken out, and the
/// time between: a tenth of a second in all. They look for as long as a hit takes.
const LOOKS: u32 = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

impl<D: Driver> Loader<D> {
    /// Has the driver load. Where memory ran out, once more with the memory of what is retired, and
    /// then with that of ever more residents which nobody uses.
    pub(super) fn load_image(
        &self,
        context: &Context<D>,
        image: &Image,
    ) -> Result<Module<D>, CudaError> {
        let load = || context.load_into(image, Some(&self.queue));
        let ran_out = |loaded: &Result<Module<D>, CudaError>| {
            loaded.as_ref().is_err_and(CudaError::is_out_of_memory)
        };
        let mut loaded = load();
        if ran_out(&loaded) {
            self.unload_retired();
            loaded = load();
        }
        let mut bytes = image.bytes().max(1);
        while ran_out(&loaded) && self.unload_idle(context.id().device, bytes) {
            bytes = bytes.saturating_mul(2);
            loaded = load();
        }
        loaded
    }

    /// Takes `bytes` of residents that nobody uses out of the cache, and unloads them; whether there
    /// were any.
    fn unload_idle(&self, device: u32, bytes: u64) -> bool {
        // What is taken out by a thread that looks at the cache itself cannot be dropped.
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
