//! Which entries stay when the budget is full.

mod clock;
mod ghosts;
mod refusals;
mod retention;
mod room;
mod usage;
mod victims;

pub(crate) use clock::Clock;
pub(crate) use ghosts::Ghosts;
pub use retention::{Candidate, FamilyRetention, Retention};
pub(crate) use usage::Usage;
pub(crate) use victims::{LoadTime, Newcomer, VictimQueue};
