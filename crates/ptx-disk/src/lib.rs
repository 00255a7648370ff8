//! Crash-safe, self-healing, bounded directory of compiled artifacts shared by processes.
//!
//! A [`DiskStore`] keeps PTX text under [`PtxKey`](ptx_key::PtxKey)s and cubins under
//! [`ModuleKey`](ptx_key::ModuleKey)s, one artifact a file, so that the second run of anything
//! starts warm. Any number of processes use one directory at once.
//!
//! ```
//! use ptx_disk::{Artifact, Claim, Config, DiskStore, PtxArtifact, Store, StoreError};
//! # use ptx_key::{Digest, PtxKey};
//! # let directory = tempfile::tempdir()?;
//! # let root = directory.path().join("store");
//! # let key = PtxKey::from_bytes(*Digest::of_bytes(b"saxpy").as_bytes());
//!
//! /// Compiles the kernel. Only the first run of the program does.
//! fn lower() -> PtxArtifact {
//!     Artifact::from(".version 8.0\n.target sm_90\n")
//! }
//!
//! fn get(store: &dyn Store<PtxKey>, key: &PtxKey) -> Result<PtxArtifact, StoreError> {
//!     if let Some(found) = store.load(key)? {
//!         return Ok(found);
//!     }
//!     // Other threads and processes that need the artifact wait until `_guard` is dropped.
//!     let _guard = match store.claim(key)? {
//!         Claim::Published(found) => return Ok(found),
//!         Claim::Held(guard) => Some(guard),
//!         Claim::NotCoordinated => None,
//!     };
//!     let artifact = lower();
//!     store.store(key, &artifact)?;
//!     Ok(artifact)
//! }
//!
//! let store = DiskStore::open(Config::new(&root))?;
//! let first = get(&store, &key)?;
//! // The next process finds it.
//! let next = DiskStore::open(Config::new(&root))?;
//! assert_eq!(next.load(&key)?.map(|found| found.payload), Some(first.payload));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! A cache in memory does the same with any [`Store`]: give it the store as a tier. One `DiskStore`
//! is a tier of texts and a tier of cubins.
//!
//! # What it promises
//!
//! * A load gives what was stored under that key, byte for byte. A damaged file is quarantined,
//!   counted, and a miss.
//! * A full disk or a read-only home fails no program. Writing turns off with one [`Warning`], and
//!   on again when it works.
//! * A process may be killed, and the power cut, within any operation.
//! * One process at a time computes an artifact. The others wait for a bounded time. When it dies,
//!   one of them takes over.
//! * A load names one file, takes no lock and lists nothing.
//!
//! # What it does not do
//!
//! It keeps nothing in memory (that is `ptx-cache`) and sends nothing over a network. It does not
//! prove who wrote an entry: it trusts everyone who can write the directory, so the directory is
//! private to its user unless [`Config::shared`] is set. It syncs nothing unless [`Durability`]
//! asks for it, since what a power cut takes can be computed again.
//!
//! `FORMAT.md` beside this crate specifies the directory. Readers in Python stand beside it.
//!
//! # Dependencies
//!
//! `ptx-store` has what a store keeps and must do. `ptx-key` gives keys and digests. `ptx-eviction`
//! chooses the victims of a trim. `zstd` compresses texts and `lz4` cubins. `rustix` opens without
//! following links, renames without replacing, and names file systems. `etcetera` knows the
//! platform's directory for caches. `fastrand` names temporary files. `tracing` takes warnings.
//! `thiserror` derives the error types.

mod bundle;
mod claim;
mod config;
mod error;
pub mod format;
mod publish;
mod read;
mod statistics;
pub mod storage;
mod store;
mod upkeep;

pub use bundle::{Bundle, Imported, Index, MOST_ENTRIES};
#[cfg(any(test, feature = "testing"))]
pub use config::Times;
pub use config::{Config, Location, Mode, Warning, WarningHook};
pub use error::{Damage, DiskError};
pub use format::compression::Compression;
pub use ptx_store::{
    Artifact, Attributes, Claim, CubinArtifact, EntryKey, Kind, Payload, PtxArtifact, Size, Store,
    StoreError, Stored,
};
pub use publish::Durability;
pub use read::Verified;
pub use statistics::Statistics;
pub use store::DiskStore;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
