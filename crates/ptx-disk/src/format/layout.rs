//! Which names does a store use?

use std::path::{Path, PathBuf};
use std::process;

use ptx_store::{EntryKey, Kind};

/// Places in quarantine. A damaged file takes one at random and replaces what it holds.
pub(crate) const QUARANTINE_PLACES: u32 = 64;

/// The names in a store's directory, as `FORMAT.md` says.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of an entry. Its directory has the format's version, so that releases with
    /// different ones can share a store.
    pub(crate) fn entry(&self, key: &EntryKey) -> PathBuf {
        let suffix = match key.kind() {
            Kind::Ptx => "ptx-entry",
            Kind::Cubin => "cubin-entry",
        };
        self.root.join(format!("entries-1/{key:.2}/{key}.{suffix}"))
    }

    /// The key whose entry has this name. Returns `None` for any other file.
    pub(crate) fn key(name: &str) -> Option<EntryKey> {
        let (digits, suffix) = name.split_once('.')?;
        let bytes = *digits.parse::<ptx_key::Digest>().ok()?.as_bytes();
        let kind = match suffix {
            "ptx-entry" => Kind::Ptx,
            "cubin-entry" => Kind::Cubin,
            _ => return None,
        };
        Some(EntryKey::from_bytes(kind, bytes))
    }

    /// The directory of all entries.
    pub(crate) fn all_entries(&self) -> PathBuf {
        self.root.join("entries-1")
    }

    /// The directory of entries with this first byte.
    pub(crate) fn entries(&self, first_byte: u8) -> PathBuf {
        self.root.join(format!("entries-1/{first_byte:02x}"))
    }

    /// The file of totals.
    pub(crate) fn totals(&self) -> PathBuf {
        self.root.join("totals-1")
    }

    /// The file whose lock makes one process the trimmer.
    pub(crate) fn trimmer(&self) -> PathBuf {
        self.root.join("trimmer")
    }

    /// The file whose lock is the claim on a key.
    pub(crate) fn claim(&self, key: &EntryKey) -> PathBuf {
        let kind = key.kind();
        self.root.join(format!("claims/{key:.2}/{key}.{kind}"))
    }

    /// The file that is the claim on a key where there are no locks.
    pub(crate) fn lease(&self, key: &EntryKey) -> PathBuf {
        let kind = key.kind();
        self.root.join(format!("claims/{key:.2}/{key}.{kind}-lease"))
    }

    /// The directory of claims with this first byte.
    pub(crate) fn claims(&self, first_byte: u8) -> PathBuf {
        self.root.join(format!("claims/{first_byte:02x}"))
    }

    /// The directory of files that are being written.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A new path for a file that is being written.
    pub(crate) fn new_temporary(&self) -> PathBuf {
        self.temporary().join(new_name(process::id()))
    }

    /// The directory of damaged files.
    pub(crate) fn quarantine_directory(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// A place in quarantine.
    pub(crate) fn quarantine(&self, place: u32) -> PathBuf {
        self.root.join(format!("quarantine/{:02}", place % QUARANTINE_PLACES))
    }

    /// Tells backup programs to leave the directory out (see bford.info/cachedir).
    pub(crate) fn tag(&self) -> PathBuf {
        self.root.join("CACHEDIR.TAG")
    }
}

/// The number of the directory that holds the entry of `key`.
pub(crate) const fn directory_of(key: &EntryKey) -> u8 {
    let [first, ..] = *key.as_bytes();
    first
}

/// A name of 32 random hexadecimal digits that no other process gives.
///
/// A forked process continues its parent's random numbers, and so do its siblings. Only the process
/// number tells them apart.
pub(crate) fn new_name(process: u32) -> String {
    format!("{:032x}", fastrand::u128(..) ^ u128::from(process))
}

#[cfg(test)]
mod tests;
