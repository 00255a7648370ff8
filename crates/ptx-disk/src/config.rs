//! How is a store set up?

mod location;
mod settings;
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unreachable_pub, reason = "only tests set times")
)]
mod times;
mod warning;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt};

use ptx_store::Size;

pub use location::{Location, Mode};
use settings::Variables;
#[cfg(any(test, feature = "testing"))]
pub use times::Times;
#[cfg(not(any(test, feature = "testing")))]
use times::Times;
pub use warning::{Warning, WarningHook};

use crate::{Compression, DiskError, Durability};

/// How a store is set up. [`Config::new`] and [`Config::find`] give values that suit most programs.
#[derive(Clone)]
pub struct Config {
    /// The store's directory, absolute. With `None` the store keeps nothing.
    pub root: Option<PathBuf>,
    /// Whether the store may read and write.
    pub mode: Mode,
    /// Accepts a directory that belongs to another user or that everyone can write, and gives the
    /// directory's group the right to write new files. Whoever can write the directory can run code
    /// on the GPU.
    pub shared: bool,
    /// Read-only tiers below the store's own directory, nearest first: bundles, or directories of
    /// other stores, such as one of the system. One that cannot be used is a warning.
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
    /// How long an entry stays that nobody uses. A trim removes all older ones, and each write
    /// looks at a few.
    pub longest_unused: Duration,
    /// Free bytes that the store leaves to others, but at most a twentieth of the file system.
    pub free_bytes: u64,
    /// The longest time that a claim waits for its holder.
    pub longest_claim_wait: Duration,
    /// The producer of artifacts that name none, such as `my-back-end 1.4`. An entry stores at most
    /// 255 bytes of it.
    pub producer: String,
    /// Takes warnings. `None` sends them to `tracing::warn!`.
    pub on_warning: Option<WarningHook>,
    /// Shorter times, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub times: Times,
}

impl Config {
    /// The configuration of a store in `root`, which must be absolute.
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
            producer: String::new(),
            on_warning: None,
            #[cfg(any(test, feature = "testing"))]
            times: Times::STANDARD,
        }
    }

    /// The configuration of a store where [`Location::find`] finds it, changed by these variables:
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
        config.set_from(|name| env::var_os(name))?;
        Ok(config)
    }

    /// Changes what the variables name.
    fn set_from(&mut self, variable: impl Fn(&str) -> Option<OsString>) -> Result<(), DiskError> {
        let read = Variables(variable);
        read.size("PTX_CACHE_BYTES", &mut self.budget.bytes)?;
        read.count("PTX_CACHE_ENTRIES", &mut self.budget.entries)?;
        read.days("PTX_CACHE_DAYS", &mut self.longest_unused)?;
        read.size("PTX_CACHE_FREE_BYTES", &mut self.free_bytes)?;
        read.size("PTX_CACHE_ENTRY_BYTES", &mut self.most_entry_bytes)?;
        read.compression("PTX_CACHE_COMPRESSION", &mut self.compression)
    }

    /// The times that no caller can judge.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(clippy::unused_self, reason = "only tests set times")
    )]
    pub(crate) const fn times(&self) -> Times {
        #[cfg(any(test, feature = "testing"))]
        let times = self.times;
        #[cfg(not(any(test, feature = "testing")))]
        let times = Times::STANDARD;
        times
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

#[cfg(test)]
mod tests;
