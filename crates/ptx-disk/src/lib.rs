//! Crash-safe, self-healing, bounded directory of compiled artifacts shared by processes.
//!
//! A [`DiskStore`] keeps PTX text under [`PtxKey`](ptx_key::PtxKey)s and cubins under
//! [`ModuleKey`](ptx_key::ModuleKey)s, one artifact a file, so that the second run of anything
//! starts warm. Any number of processes use one folder at once.
//!
//! ```
//! use ptx_disk::{Artifact, Claim, Config, DiskStore, PtxArtifact, Store as _, StoreError};
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
//! fn get(store: &DiskStore, key: &PtxKey) -> Result<PtxArtifact, StoreError> {
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
//! # What it promises
//!
//! * What is handed out is what was stored, byte for byte, under that key. A file that is damaged
//!   in any way is set aside, counted, and a miss.
//! * No caller fails for what the file system does. A full disk or a read-only home turns writing
//!   off with one warning ([`Warning`]), and on again when it works.
//! * A process may be killed, and the power cut, within any operation.
//! * One process at a time makes an artifact; the others wait for it, for a bounded time, and take
//!   over when it dies.
//! * A load names one file, takes no lock and lists nothing.
//!
//! # What it does not do
//!
//! It keeps nothing in memory (that is `ptx-cache`), sends nothing over a network, and does not
//! prove who wrote an entry: whoever can write the folder is trusted, so it is private to its user
//! unless told otherwise. It asks for no sync unless told to ([`Durability`]), since what a power
//! cut takes can be made anew.
//!
//! `FORMAT.md` beside this crate is the specification of the folder, with readers in Python.
//!
//! # Dependencies
//!
//! `ptx-key` gives keys and digests. `zstd` compresses texts and
//! `lz4` cubins, `rustix` says what the standard library
//! has no word for (opening without following links, renaming without replacing, the kind of a
//! file system), `etcetera` knows the platform's folder for caches, `fastrand` makes names for
//! temporary files, `ptx-eviction` chooses what stays within the bounds, `tracing` takes warnings,
//! `thiserror` derives the error types. `ptx-store` has what a store keeps and
//! must do.

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
