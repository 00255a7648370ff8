//! Where entries lie: lock-free look-ups, and writers that exclude each other by shard. All of this crate's
//! `unsafe` is in this directory.

mod hash_table;
mod pinned;
mod shard;
mod slot;
mod tags;

pub use pinned::Pinned;
pub(crate) use shard::Shard;
pub(crate) use slot::{About, Slot};
