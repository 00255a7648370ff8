//! Who computes a missing value, and who waits for it.

mod failures;
mod flights;
mod lead;
#[cfg(feature = "async")]
mod lead_async;
mod waits;

pub use failures::{FailureMemory, IsDeterministic};
pub(crate) use failures::Failures;
#[cfg(all(test, loom))]
pub(crate) use flights::{End, Flight};
pub(crate) use flights::{Flights, Joined};
pub(crate) use lead::lowering_error;
pub use lead::{Entered, Lead, TaskLead};
pub(crate) use waits::Computation;
