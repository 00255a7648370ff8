//! PTX text by key, in memory above slower tiers: hits without a lock, one lowering per key,
//! exact accounting.
//!
//! A GPU back end asks [`PtxCache`] for the PTX of a [`PtxKey`](ptx_key::PtxKey) and says how to
//! lower it if nobody has. The text comes from memory; from a tier beneath ([`Store`]: a
//! directory, a fleet's object store); from another thread that is lowering it already; or from
//! the lowering, which then fills memory and the tiers.
//!
//! ```
//! use std::sync::Arc;
//! use ptx_cache::{Budget, Config, PtxCache, Source};
//! use ptx_key::PtxKey;
//!
//! let cache = PtxCache::new(Config::with_budget(Budget { entries: 512, bytes: 64 << 20 }));
//! let key = PtxKey::from_bytes([7; 32]);
//!
//! let lowered = cache.serve(&key, || Ok::<_, std::fmt::Error>(".version 8.0\n"))?;
//! assert_eq!(lowered.source, Source::Lowered);
//! let again = cache.serve(&key, || -> Result<&str, std::fmt::Error> { unreachable!() })?;
//! assert_eq!(again.source, Source::Memory);
//! assert!(Arc::ptr_eq(&lowered.text, &again.text));
//!
//! // On a hot path: borrow under one pin, clone nothing.
//! let pinned = cache.memory().pin();
//! assert_eq!(pinned.get(&key).map(|text| text.len()), Some(13));
//! # Ok::<(), ptx_cache::CacheError>(())
//! ```
//!
//! # What it promises
//!
//! - A hit takes no lock, allocates nothing, and writes only its own thread's counters and, until
//!   an entry's count of uses is full, that count. (A thread's first hit makes its counters; and
//!   each 128th pin of a thread may drop what any thread has retired: it does so under no lock.)
//! - A lowering runs outside every lock, in the thread that asked. Only those who ask for the same
//!   key wait for it, parked, and they wake before the tiers are written. If it fails or panics they
//!   wake with an error, and the next request lowers again. A lowering may ask for other keys;
//!   waiting that could never end is an error.
//! - With the feature `async`, tasks ask as threads do and wait for each other
//!   (`PtxCache::get_or_lower_async`); a request that is dropped while it lowers hands over to one
//!   that waits.
//! - A tier that fails never fails a request, unless the [`WritePolicy`] says so.
//! - Entries and bytes never exceed the [`Budget`], and at every quiescent point they are the sums
//!   over the resident entries. What is being served but not yet published is not counted.
//! - When the budget is full, an insertion chooses who is to go ([`Retention`]), for itself and for
//!   some insertions after it; each then retires no more than it needs room for. A hit never
//!   evicts, and one on an entry that was chosen saves it.
//! - What is made is served, and nearly always kept. What was retired before, or takes more than
//!   half of the byte budget, is not kept if it is worth less than what would have to go for it.
//!
//! # What can be asked of it
//!
//! All of it is off by default. A failure that is sure to come again can be remembered for a while
//! ([`FailureMemory`]). A lowering that is cheaper than a look below can be kept out of the tiers
//! ([`TierPolicy`]). A share of hits can be lowered again and compared, to find what a caller
//! forgot to put in the key ([`PtxCache::set_verified_share`]). A [`Listener`] hears of everything
//! but hits.
//!
//! # Limits
//!
//! - Keys are `Copy`. Values are cloned out: use an `Arc`.
//! - Retired values are freed when all threads have passed an epoch: a thread that stays pinned
//!   keeps everything that was retired since alive.
//! - Counts of uses are estimates. Under a race two uses may count as one; nothing else depends on
//!   them.
//! - A making that hands work to other threads and waits for them is not seen through: if one of
//!   them asks for a key that is being made further out, that is a hang and not an error.
//! - A text that is purged while its lowering is under way comes back when the lowering ends.
//!
//! # Costs
//!
//! An entry of [`PtxCache`] takes one 64-byte slot and one tag byte, in tables that are between
//! 7/16 and 7/8 full while the cache grows: 75 to 150 bytes an entry beside the text. A table does
//! not shrink but by `clear`. What is remembered of retired entries takes 128 KiB, from the first
//! one on, whatever the cache's size.
//!
//! # Dependencies
//!
//! `crossbeam-epoch` frees what readers may still see, `crossbeam-utils` keeps written lines apart,
//! `thread_local` gives each thread its own counters, `hashbrown` is the table of flights, which
//! is read under a lock (its own page says why the main table is not), `ahash` hashes keys that
//! are not digests, `arc-swap` swaps settings under readers, `ptx-eviction` chooses who stays,
//! `fastrand` samples the hits that are verified, `tracing` tells of lowerings, `thiserror` derives
//! the error type. With the feature `async`, `blocking` keeps the tiers' waiting off the threads of
//! whatever runtime polls.

mod accounting;
mod cache;
mod clock;
mod config;
mod counters;
mod cubin_store;
mod error;
mod failures;
mod flight;
mod ghosts;
mod listener;
#[cfg(all(test, loom))]
mod loom_models;
mod made;
mod make;
#[cfg(feature = "async")]
mod make_async;
#[cfg(all(test, not(loom)))]
mod map_store;
mod pinned;
mod ptx_cache;
mod refusals;
mod retention;
mod room;
mod serve;
#[cfg(feature = "async")]
mod serve_async;
mod served_ptx;
mod shard;
mod slot;
mod snapshot;
mod store;
mod sync;
mod table;
mod tags;
mod tiers;
mod usage;
mod verification;
mod waits;

pub use accounting::{Budget, Resident, Weigh};
pub use cache::Cache;
pub use config::Config;
pub use cubin_store::{CubinStore, StoredCubin};
pub use error::{CacheError, Cause};
pub use failures::{FailureMemory, IsDeterministic};
pub use listener::{Event, Listener};
pub use made::{Made, Origin, Served};
pub use pinned::Pinned;
pub use ptx_cache::{PtxCache, PtxSnapshot};
pub use retention::{Candidate, FamilyRetention, Retention};
pub use served_ptx::{Lowered, ServedPtx, Source};
pub use snapshot::{EntryReport, Snapshot};
pub use store::{Artifact, Claim, Store, StoreError};
pub use tiers::{TierPolicy, TierSnapshot, WritePolicy};
