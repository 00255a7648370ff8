//! What PTX caches and their tiers exchange: the [`Artifact`], and the [`Store`] that keeps it.
//!
//! A cache holds artifacts in memory. Below it stand tiers: a directory on disk, a fleet's object
//! store, or a tier that you write. Both sides depend on this crate and neither on the other.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::{Mutex, PoisonError};
//! use ptx_store::{Artifact, Claim, PtxArtifact, Store, StoreError, Stored};
//! use ptx_key::PtxKey;
//!
//! /// A tier of PTX texts in a map.
//! #[derive(Default)]
//! struct Map(Mutex<BTreeMap<PtxKey, PtxArtifact>>);
//!
//! impl Map {
//!     fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<PtxKey, PtxArtifact>> {
//!         self.0.lock().unwrap_or_else(PoisonError::into_inner)
//!     }
//! }
//!
//! impl Store<PtxKey> for Map {
//!     fn name(&self) -> &str {
//!         "map"
//!     }
//!     fn load(&self, key: &PtxKey) -> Result<Option<PtxArtifact>, StoreError> {
//!         Ok(self.locked().get(key).cloned())
//!     }
//!     fn store(&self, key: &PtxKey, artifact: &PtxArtifact) -> Result<Stored, StoreError> {
//!         self.locked().insert(*key, artifact.clone());
//!         Ok(Stored::Written)
//!     }
//!     fn remove(&self, key: &PtxKey) -> Result<bool, StoreError> {
//!         Ok(self.locked().remove(key).is_some())
//!     }
//!     fn claim(&self, _: &PtxKey) -> Result<Claim<PtxKey>, StoreError> {
//!         Ok(Claim::NotCoordinated)
//!     }
//! }
//!
//! let (store, key) = (Map::default(), PtxKey::from_bytes([7; 32]));
//! store.store(&key, &Artifact::from(".version 8.0\n"))?;
//! assert_eq!(store.load(&key)?.map(|found| found.payload.len()), Some(13));
//! # Ok::<(), StoreError>(())
//! ```
//!
//! With the feature `testing`, `testing::check_store` runs the conformance suite on a store, and
//! `testing::MapStore` is a store in memory that can be told to fail.
//!
//! # Dependencies
//!
//! `ptx-key` gives the keys. `ptx-eviction` gives [`Size`], which budgets and counts share.

mod artifact;
mod attributes;
mod key;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use artifact::{Artifact, CubinArtifact, Payload, PtxArtifact};
pub use attributes::{Attributes, EntryName, LaunchShape};
pub use key::{ArtifactKey, EntryKey, Kind};
pub use ptx_eviction::Size;
pub use store::{Claim, Store, StoreError, Stored};

/// Runs the README's example as a test.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../README.md")]
struct Readme;
