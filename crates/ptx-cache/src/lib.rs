//! PTX by key, in memory above slower tiers: hits without a lock, one lowering for each key, exact
//! accounting.
//!
//! A GPU back end asks [`PtxCache`] for the PTX of a [`PtxKey`](ptx_key::PtxKey), and says how to
//! lower it if nobody has it. The answer comes from memory; from a tier below ([`Store`]: a
//! directory, a fleet's object store); from another thread that lowers it already; or from the
//! lowering, which then fills memory and the tiers.
//!
//! ```
//! use std::sync::Arc;
//! use ptx_cache::{Config, PtxCache, Size, Source};
//! use ptx_key::PtxKey;
//!
//! let cache = PtxCache::new(Config::with_budget(Size { entries: 512, bytes: 64 << 20 }));
//! let key = PtxKey::from_bytes([7; 32]);
//!
//! let lowered = cache.get_or_lower(&key, || Ok::<_, std::fmt::Error>(".version 8.0\n"))?;
//! assert_eq!(lowered.source, Source::Computed);
//! let again = cache.get_or_lower(&key, || Err::<String, _>(std::fmt::Error))?;
//! assert_eq!(again.source, Source::Memory);
//! assert!(Arc::ptr_eq(&lowered, &again));
//!
//! // On a hot path: borrow under one pin, clone nothing.
//! let pinned = cache.memory().pin();
//! assert_eq!(pinned.get(&key).map(|artifact| artifact.payload.len()), Some(13));
//! # Ok::<(), ptx_cache::CacheError>(())
//! ```
//!
//! # What it promises
//!
//! - A hit takes no lock and allocates nothing. It writes its own thread's counters. It also writes
//!   an entry's count of uses until that is full, and the entry's first use in each tick. (A
//!   thread's first hit allocates its counters. Each 128th pin of a thread may drop what any thread
//!   has retired, under no lock.)
//! - A lowering runs outside every lock, in the thread that asked. Only those who ask for the same
//!   key wait for it, parked. They wake before the tiers are written. If the leader fails or panics
//!   they wake with an error, and the next request lowers again. A lowering may ask for other keys.
//!   Waiting that could never end is an error.
//! - With the feature `async`, tasks ask as threads do, and both wait for each other. If a request
//!   is dropped while it lowers, a waiter lowers in its place.
//! - A tier that fails never fails a request, unless the [`WritePolicy`] says so.
//! - Entries and bytes never exceed the budget. At every quiescent point they are the sums over the
//!   resident entries.
//! - An insertion into a full cache evicts no more than it needs room for. A hit never evicts, and
//!   saves an entry that was chosen as a victim. [`Retention`] chooses the victims.
//! - The cache always serves what it computes. It nearly always keeps it. It does not keep a value
//!   that is worth less than its victims, if the value was evicted before or exceeds half of the
//!   byte budget.
//!
//! # Options
//!
//! All are off by default. [`FailureMemory`] remembers failures that are sure to happen again.
//! [`TierPolicy`] keeps cheap lowerings out of the tiers. [`PtxCache::set_verified_share`] lowers a
//! share of hits again and compares, to find what a key leaves out. A [`Listener`] is notified of
//! everything but hits. A back end with another control flow uses the leader's guard: see
//! [`Cache::enter`] and [`Lead`].
//!
//! # Limits
//!
//! - Keys are `Copy`. Values are cloned out: use an `Arc`.
//! - Retired values are freed when all threads have passed an epoch. A thread that stays pinned
//!   keeps everything alive that was retired since.
//! - Counts of uses are estimates: two uses at once may count as one. Nothing else depends on them.
//! - The cache does not know which lowering a spawned thread works for. If a lowering awaits a
//!   thread that asks for the same key, both wait for ever.
//! - A text that is purged while it is being lowered comes back when the lowering ends.
//! - Several tiers that coordinate must have the same order in all processes. Otherwise two processes
//!   wait for each other's claims, for as long as the tiers allow.
//!
//! # Costs
//!
//! An entry of [`PtxCache`] takes one 64-byte slot and one tag byte, in tables that are between 7/16
//! and 7/8 full while the cache grows: 75 to 150 bytes beside the artifact. Tables shrink only by
//! `clear`. The uses of evicted entries take 128 KiB from the first eviction on.
//!
//! # Dependencies
//!
//! | crate | why |
//! | --- | --- |
//! | `crossbeam-epoch` | frees what readers may still see |
//! | `crossbeam-utils` | keeps lines apart that different cores write |
//! | `thread_local` | gives each thread its own counters |
//! | `hashbrown` | the table of flights, which is read under a lock |
//! | `ahash` | hashes keys that are not digests |
//! | `arc-swap` | replaces settings under readers |
//! | `ptx-eviction` | chooses which entries stay |
//! | `ptx-store` | what tiers and caches exchange |
//! | `fastrand` | samples the hits that are verified |
//! | `tracing` | spans of lowerings |
//! | `thiserror` | derives the error type |
//! | `blocking` | with the feature `async`: keeps the tiers' waiting off the runtime's threads |

mod accounting;
mod cache;
mod config;
mod counters;
mod error;
mod flight;
mod listener;
mod policy;
mod ptx;
mod served;
mod snapshot;
mod sync;
mod table;

pub use accounting::Weigh;
pub use cache::Cache;
pub use config::Config;
pub use error::{CacheError, Cause};
pub use flight::{Entered, FailureMemory, Lead, TaskLead};
pub use listener::{Event, Listener};
pub use policy::{Candidate, FamilyRetention, Retention};
pub use ptx::{PtxCache, PtxSnapshot, TierPolicy, TierSnapshot, WritePolicy};
pub use ptx_store::{
    Artifact, Attributes, Claim, CubinArtifact, EntryName, LaunchShape, PtxArtifact, Size, Store,
    StoreError, Stored,
};
pub use served::{Computed, Served, Source};
pub use snapshot::{EntryReport, Snapshot};
pub use table::Pinned;

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
