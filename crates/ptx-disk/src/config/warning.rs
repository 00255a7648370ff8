//! What does a store warn of?

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::Digest;
use ptx_store::EntryKey;

use crate::error::WithSources;
use crate::{Damage, DiskError};

/// Takes warnings.
pub type WarningHook = Arc<dyn Fn(&Warning) + Send + Sync>;

/// What a person should know and no program fails for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The machine has no directory for this user's caches.
    #[error(
        "this machine has no directory for caches, so nothing is kept on disk: set PTX_CACHE_DIR"
    )]
    NoLocation,
    /// Writing is off for a while. The store warns once until it works again.
    #[error("nothing is written to disk for now: {}", WithSources(error))]
    WritingOff {
        /// What failed.
        error: DiskError,
    },
    /// Reading is off for a while. The store warns once until it works again.
    #[error("nothing is read from disk for now: {}", WithSources(error))]
    ReadingOff {
        /// What failed.
        error: DiskError,
    },
    /// A stored file is damaged. The load misses, and a store that may write quarantines the file.
    #[error("`{}` is damaged and is not used: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A read-only tier cannot be used. The store works without it.
    #[error("a read-only layer of the store is left out: {}", WithSources(error))]
    LayerUnusable {
        /// What is wrong with it.
        error: DiskError,
    },
    /// The directory is on a network file system, where each load waits for a server.
    #[error(
        "the store's directory `{}` is on {kind}: a directory on a disk of this machine is faster \
         (set PTX_CACHE_DIR)", root.display()
    )]
    NetworkFileSystem {
        /// The store's directory.
        root: PathBuf,
        /// The file system.
        kind: &'static str,
    },
    /// Another process takes longer to compute the artifact than this one may wait, so this one
    /// computes it too.
    #[error(
        "waited {waited:?} for another process that computes {key}, and now computes it here too \
         (the longest wait is a setting)"
    )]
    GaveUpWaiting {
        /// The key.
        key: EntryKey,
        /// The longest wait.
        waited: Duration,
    },
    /// Two lowerings of one key gave different content. Something reaches the emitter and not the
    /// key.
    #[error(
        "two lowerings of {key} differ: the entry with content {kept:.12} stays and {offered:.12} \
         is not kept; something reaches the emitter that is not in the key"
    )]
    Conflict {
        /// The key.
        key: EntryKey,
        /// SHA-256 of the content that stays.
        kept: Digest,
        /// SHA-256 of the content that was not kept.
        offered: Digest,
    },
}
