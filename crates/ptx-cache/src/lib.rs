//! In-memory PTX cache: lock-free hits, one lowering per key, exact byte accounting.

mod accounting;
mod cache;
mod clock;
mod config;
mod counters;
mod error;
mod flight;
#[cfg(all(test, loom))]
mod loom_models;
mod made;
mod pinned;
mod ptx_cache;
mod retention;
mod room;
mod shard;
mod slot;
mod snapshot;
mod store;
mod sync;
mod table;
mod tags;
mod tiers;
mod waits;

pub use accounting::{Budget, Resident, Weigh};
pub use cache::Cache;
pub use config::Config;
pub use error::CacheError;
pub use made::{Made, Origin, Served};
pub use pinned::Pinned;
pub use ptx_cache::{Lowered, PtxCache, PtxSnapshot, ServedPtx, Source};
pub use retention::{Candidate, FamilyRetention, Retention};
pub use snapshot::{EntryReport, Snapshot};
pub use store::{Artifact, Claim, Store, StoreError};
pub use tiers::{TierSnapshot, WritePolicy};
