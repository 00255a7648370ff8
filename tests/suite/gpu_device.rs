//! The GPU of this machine, for one test at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_cuda::{Context, CustDriver};
use ptx_tests::Requirement;

/// Device memory is counted and contexts are lost in some tests: they must not see each other.
static GPU: Mutex<()> = Mutex::new(());

/// The driver and the primary context of the first device, until the test ends.
pub(crate) struct Gpu {
    pub(crate) driver: Arc<CustDriver>,
    pub(crate) context: Context<CustDriver>,
    _alone: MutexGuard<'static, ()>,
}

/// The GPU, or `None` after saying that the test is skipped.
pub(crate) fn gpu() -> Option<Gpu> {
    // A test that failed has said so; the others can run.
    let alone = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = match CustDriver::new() {
        Ok(driver) => driver,
        Err(error) => return Requirement::Gpu.skip(&format!("no CUDA device: {error}")),
    };
    let context = Context::primary(&driver, 0).unwrap();
    println!(
        "{}, compute capability {}, driver {}",
        context.device().name,
        context.device().compute_capability,
        context.driver_version()
    );
    Some(Gpu { driver, context, _alone: alone })
}
