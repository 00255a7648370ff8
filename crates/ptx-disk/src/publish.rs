//! How does an artifact become an entry? Nothing else writes one.

mod durability;
mod keep;
pub(crate) mod publisher;

pub use durability::Durability;
