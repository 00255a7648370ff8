//! Crash-safe, self-healing, bounded directory of compiled artifacts shared by processes.

mod claim;
mod compression;
mod config;
mod counters;
mod degradation;
mod entry;
mod error;
mod folders;
pub mod format;
mod layout;
mod location;
mod outcome;
mod publish;
mod quarantine;
mod read;
pub mod storage;
mod store;
mod sweep;
#[cfg(feature = "cache")]
mod tier;

pub use compression::Compression;
pub use config::{Config, Warning, WarningHook};
pub use counters::Statistics;
pub use entry::{Attributes, Entry, EntryKey, Kind, Payload};
pub use error::{Damage, DiskError};
pub use location::{Location, Mode};
pub use outcome::{Claim, ClaimGuard, Load, Stored};
pub use publish::Durability;
pub use store::DiskStore;
