//! How a store is set up, and what it says when something is amiss.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ptx_key::Digest;
use ptx_store::{EntryKey, Size};

use crate::settings;
use crate::{Compression, Damage, DiskError, Durability, Location, Mode};

/// How a store is set up. [`Config::new`] and [`Config::find`] give sensible values; change what
/// you must.
#[derive(Clone)]
pub struct Config {
    /// The store's folder, absolute. `None` is a store that keeps nothing.
    pub root: Option<PathBuf>,
    /// What may be done with it.
    pub mode: Mode,
    /// Uses a folder that belongs to another user or that everyone can write, and makes files
    /// that the folder's group can write. Whoever can write the folder can run code on the GPU.
    pub shared: bool,
    /// Read-only tiers under the store's own folder, nearest first: bundles, or folders of other
    /// stores, such as one of the system's. One that cannot be used is a warning.
    pub layers: Vec<PathBuf>,
    /// What a published entry survives.
    pub durability: Durability,
    /// How new entries are stored.
    pub compression: Compression,
    /// The largest entry, in bytes, stored and decoded. Larger ones are neither written nor read.
    pub most_entry_bytes: u64,
    /// The most that the store may hold: bytes on the medium, each file rounded up to blocks of
    /// 4,096, and entries, since file systems run out of inodes as well. A key that was claimed
    /// within the last day has an empty file for its claim beside its entry.
    pub budget: Size,
    /// How long an entry stays that nobody uses. A trim removes all that are older, and writes
    /// look at a few entries now and then.
    pub longest_unused: Duration,
    /// Free bytes that the store leaves to others, but at most a twentieth of the file system.
    pub free_bytes: u64,
    /// The longest time that a claim waits for its holder.
    pub longest_claim_wait: Duration,
    /// Where the file system has no locks: the time without a sign of life after which the holder
    /// of a claim counts as dead.
    pub lease_time: Duration,
    /// For how long a failure turns reading or writing off. It doubles with each further failure.
    pub first_pause: Duration,
    /// The age at which a file that was never published counts as left behind.
    pub temporary_age: Duration,
    /// The age at which a claim file that nobody holds is removed.
    pub claim_age: Duration,
    /// Who writes the entries that do not say it themselves, such as `my-back-end 1.4`.
    pub producer: String,
    /// Where warnings go; `None` sends them to `tracing::warn!`.
    pub on_warning: Option<WarningHook>,
}

/// Takes warnings.
pub type WarningHook = Arc<dyn Fn(&Warning) + Send + Sync>;

impl Config {
    /// A store in `root`, which must be absolute.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: Some(root.into()),
            mode: Mode::ReadWrite,
            shared: false,
            layers: Vec::new(),
            durability: Durability::None,
            compression: Compression::default(),
            most_entry_bytes: 256 << 20,
            budget: Size { entries: 200_000, bytes: 4 << 30 },
            longest_unused: Duration::from_secs(90 * 24 * 60 * 60),
            free_bytes: 1 << 30,
            longest_claim_wait: Duration::from_secs(30),
            lease_time: Duration::from_secs(10),
            first_pause: Duration::from_secs(1),
            temporary_age: Duration::from_secs(60 * 60),
            claim_age: Duration::from_secs(24 * 60 * 60),
            producer: String::new(),
            on_warning: None,
        }
    }

    /// A store where [`Location::find`] says, with what these variables say:
    ///
    /// | variable | field | value |
    /// | --- | --- | --- |
    /// | `PTX_CACHE_BYTES` | [`Size::bytes`] of [`Config::budget`] | bytes, such as `512M` or `4GiB` |
    /// | `PTX_CACHE_ENTRIES` | [`Size::entries`] of [`Config::budget`] | a number |
    /// | `PTX_CACHE_DAYS` | [`Config::longest_unused`] | days |
    /// | `PTX_CACHE_FREE_BYTES` | [`Config::free_bytes`] | bytes |
    /// | `PTX_CACHE_ENTRY_BYTES` | [`Config::most_entry_bytes`] | bytes |
    /// | `PTX_CACHE_COMPRESSION` | [`Config::compression`] | `off`, or zstd's level |
    ///
    /// # Errors
    ///
    /// Those of [`Location::find`], and [`DiskError::BadSetting`], which names the variable, for a
    /// value that does not parse.
    pub fn find(explicit: Option<&Path>) -> Result<Self, DiskError> {
        let Location { root, mode } = Location::find(explicit)?;
        let mut config = Self { root, mode, ..Self::new(PathBuf::new()) };
        settings::apply(&mut config)?;
        Ok(config)
    }

    pub(crate) fn warn(&self, warning: &Warning) {
        if let Some(hook) = &self.on_warning {
            hook(warning);
        } else {
            tracing::warn!("{warning}");
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("root", &self.root)
            .field("mode", &self.mode)
            .field("durability", &self.durability)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

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
