//! What does a store say when something is amiss?

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::Digest;
use ptx_store::EntryKey;

use crate::{Damage, DiskError};

/// Takes warnings.
pub type WarningHook = Arc<dyn Fn(&Warning) + Send + Sync>;

/// Something that a person should know and no program must fail for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The machine knows of no folder for this user's caches.
    #[error("no folder for caches is known, so nothing is kept on disk: set PTX_CACHE_DIR")]
    NoLocation,
    /// Writing is turned off for a while. Said once until it works again.
    #[error("nothing is kept on disk for now: {error}")]
    WritingOff {
        /// What failed.
        error: DiskError,
    },
    /// Reading is turned off for a while. Said once until it works again.
    #[error("nothing is read from disk for now: {error}")]
    ReadingOff {
        /// What failed.
        error: DiskError,
    },
    /// A stored file is damaged. A store that may write quarantines it; the load misses.
    #[error("`{}` is damaged and is not used: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A read-only tier cannot be used; the store goes on without it.
    #[error("a layer under the store is left out: {error}")]
    LayerUnusable {
        /// What is wrong with it.
        error: DiskError,
    },
    /// The folder is on a network file system, where each load waits for a server.
    #[error(
        "the store's folder `{}` is on {kind}: a folder on a disk of this machine is faster \
         (set PTX_CACHE_DIR)", root.display()
    )]
    NetworkFileSystem {
        /// The store's folder.
        root: PathBuf,
        /// The file system.
        kind: &'static str,
    },
    /// Another process makes the artifact of this key and takes longer than this one may wait, so
    /// this one makes it too.
    #[error(
        "waited {waited:?} for another process that makes {key}; this one makes it too (the longest \
         wait is a setting)"
    )]
    GaveUpWaiting {
        /// The key.
        key: EntryKey,
        /// The longest wait.
        waited: Duration,
    },
    /// Two lowerings of one key gave different content. Something that reaches the emitter does
    /// not reach the key.
    #[error(
        "two lowerings of {key} disagree: an entry with content {kept:.12} stays, {offered:.12} \
         was not kept; something reaches the emitter that is not in the key"
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
