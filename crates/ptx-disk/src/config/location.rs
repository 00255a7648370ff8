//! Where a store lies when nobody says, and whether it is used at all.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};

use crate::DiskError;

/// The folder below a cache folder that belongs to others as well.
const NAME: &str = "ptx";
const ABSOLUTE: &str = "give an absolute path";

/// What may be done with a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: every load misses and nothing is kept.
    Off,
    /// Reading. Nothing on the medium changes, not even for damaged files.
    ReadOnly,
    /// Everything.
    #[default]
    ReadWrite,
}

/// Where a store lies and what may be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The store's folder, absolute; `None` where the machine knows of no folder for this user.
    pub root: Option<PathBuf>,
    /// What may be done with it.
    pub mode: Mode,
}

impl Location {
    /// The first of: `explicit`, the variable `PTX_CACHE_DIR`, `ptx` below the variable
    /// `XDG_CACHE_HOME`, `ptx` below the platform's folder for caches. The variable `PTX_CACHE`
    /// says the mode: `off`, `ro` or `rw`, which it is when unset.
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
        let folder = |name: &'static str| match variable(name) {
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
        } else if let Some(path) = folder("PTX_CACHE_DIR")? {
            Some(path)
        } else if let Some(path) = folder("XDG_CACHE_HOME")? {
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
