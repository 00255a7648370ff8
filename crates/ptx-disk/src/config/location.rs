//! Where is the store, if no caller says?

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};

use crate::DiskError;

/// The store's directory in a directory that other programs use too.
const NAME: &str = "ptx";
const ABSOLUTE: &str = "give an absolute path";

/// Whether a store may read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Neither. Every load misses and every write is skipped.
    Off,
    /// Reads only. Nothing on the medium changes, not even a damaged file.
    ReadOnly,
    /// Reads and writes.
    #[default]
    ReadWrite,
}

/// Where a store is, and whether it may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The store's directory, absolute. `None` if the machine has no directory for this user's
    /// caches.
    pub root: Option<PathBuf>,
    /// Whether it may read and write.
    pub mode: Mode,
}

impl Location {
    /// Finds the store. It is the first of: `explicit`, the variable `PTX_CACHE_DIR`, `ptx` in the
    /// variable `XDG_CACHE_HOME`, `ptx` in the platform's directory for caches. The variable
    /// `PTX_CACHE` is the mode: `off`, `ro`, or `rw`, which is the default.
    ///
    /// # Errors
    ///
    /// [`DiskError::BadSetting`] for a variable that is set and empty, a path that is not
    /// absolute, or another mode.
    pub fn find(explicit: Option<&Path>) -> Result<Self, DiskError> {
        Self::find_among(
            explicit,
            |name| env::var_os(name),
            || choose_native_strategy().ok().map(|platform| platform.cache_dir()),
        )
    }

    fn find_among(
        explicit: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
        platform: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Self, DiskError> {
        let directory = |name: &'static str| match variable(name) {
            Some(value) if value.is_empty() => {
                Err(bad(name, "", "it is empty: unset it, or give an absolute path"))
            }
            Some(value) => absolute(name, Path::new(&value)).map(Some),
            None => Ok(None),
        };
        let mode = match variable("PTX_CACHE") {
            None => Mode::ReadWrite,
            Some(value) => match value.to_str() {
                Some("off") => Mode::Off,
                Some("ro") => Mode::ReadOnly,
                Some("rw") => Mode::ReadWrite,
                _ => {
                    let value = value.to_string_lossy();
                    return Err(bad("PTX_CACHE", &value, "give off, ro or rw"));
                }
            },
        };
        let root = if let Some(path) = explicit {
            Some(absolute("path", path)?)
        } else if let Some(path) = directory("PTX_CACHE_DIR")? {
            Some(path)
        } else if let Some(path) = directory("XDG_CACHE_HOME")? {
            Some(path.join(NAME))
        } else {
            platform().filter(|path| path.is_absolute()).map(|path| path.join(NAME))
        };
        Ok(Self { root, mode })
    }
}

fn absolute(name: &'static str, path: &Path) -> Result<PathBuf, DiskError> {
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Err(bad(name, &path.to_string_lossy(), ABSOLUTE))
    }
}

fn bad(name: &'static str, value: &str, expected: &'static str) -> DiskError {
    DiskError::BadSetting { name, value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests;
