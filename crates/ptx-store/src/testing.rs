//! What tests of stores and caches need: the conformance suite, and a store in memory.

#![expect(clippy::panic, reason = "a suite reports a broken promise as a test does")]

mod conformance;
mod map_store;

pub use conformance::{SampleKey, check_store};
pub use map_store::MapStore;
