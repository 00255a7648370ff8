//! Who computes a missing value, and who waits for it.

mod failures;
mod flights;
mod lead;
#[cfg(feature = "async")]
mod lead_async;
mod waits;

pub use failures::FailureMemory;
pub(crate) use failures::Failures;
pub(crate) use flights::Flights;
pub use lead::{Entered, Lead, TaskLead};
pub(crate) use waits::Computation;
