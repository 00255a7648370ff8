//! In-memory PTX cache.
mod store;
pub use store::{Artifact, Claim, Store, StoreError};
