//! What does a store need from a file system?
//!
//! Nothing else in this crate reads or writes a file. [`OsStorage`] is the
//! machine's file system. With the feature `testing`, `MemoryStorage` keeps what is live apart from
//! what would survive a power cut, and `FaultyStorage` fails chosen operations of another storage.

pub(crate) mod directories;
#[cfg(any(test, feature = "testing"))]
mod faulty;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod os;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

#[cfg(any(test, feature = "testing"))]
pub use faulty::{FaultyStorage, Operation};
#[cfg(any(test, feature = "testing"))]
pub use memory::{MemoryStorage, Survival};
pub use os::OsStorage;
pub(crate) use os::{is_medium_error, storage_file};

/// Files and directories by path. A path means the same in every call.
///
/// Every method can fail. The error has the [`io::ErrorKind`] that the standard library gives it on
/// a real system. The store acts on `NotFound`, `AlreadyExists` and `Unsupported`, and takes every
/// other one for a failure of the medium.
#[expect(clippy::missing_errors_doc, reason = "every method can fail, as `Storage` says")]
pub trait Storage: fmt::Debug + Send + Sync + 'static {
    /// Creates one directory in a directory that exists. `AlreadyExists` if anything has the name.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Creates a new file and opens it for writing. `AlreadyExists` if anything has the name.
    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Opens what has this name for reading. Does not follow a link in the last place, and does not
    /// block on what is no regular file. The caller must check the metadata of what it got.
    fn open_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Opens a file for reading and writing, and creates it if there is none. Its bytes stay. Does
    /// not follow a link in the last place.
    fn open_or_create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// The metadata of what has this name. Does not follow a link in the last place.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Renames a file or directory in one step, replacing a file.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file in one step. `AlreadyExists` if anything has the new name.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Exchanges the names of two files in one step. `Unsupported` if the file system cannot.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Removes a file's name. Those who have the file open can still read it.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a directory, in any order. Sweeps and trims list. Loads never do.
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>>;

    /// Syncs the names in a directory, so that they survive a power cut.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Describes the file system of a directory.
    fn file_system(&self, directory: &Path) -> io::Result<FileSystem>;
}

/// An open file. Reads and writes take an offset, so that threads can share one.
#[expect(clippy::missing_errors_doc, reason = "every method can fail, as `Storage` says")]
pub trait StorageFile: Send + Sync {
    /// The metadata of this file, whatever has its name by now.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Reads bytes from `offset` on. Returns how many, 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes from `offset` on. Returns how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Syncs the file's bytes, and with `everything` its metadata, so that they survive a power
    /// cut.
    fn sync(&self, everything: bool) -> io::Result<()>;

    /// Sets the time of last change.
    fn set_modified(&self, time: SystemTime) -> io::Result<()>;

    /// Locks the file against every other opening, in this process and in others. Returns false if
    /// another has the lock. Closing this opening releases it, and so does the death of the
    /// process. `Unsupported` if the file system has no locks.
    fn try_lock(&self) -> io::Result<bool>;
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, a pipe, a socket, a device.
    Other,
}

/// Metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub length: u64,
    /// When its bytes last changed.
    pub modified: SystemTime,
    /// Which file it is. A name that still means it has the same identity.
    pub identity: FileIdentity,
    /// Who may write it.
    pub access: Access,
}

impl Metadata {
    /// Returns true if this is the file `seen`, unchanged. Systems give the number of a removed
    /// file to the next one, so the number alone does not tell.
    pub(crate) fn is_still(&self, seen: &Self) -> bool {
        let facts = |file: &Self| (file.length, file.modified);
        let same = self.identity == seen.identity && self.kind == seen.kind;
        same && (self.kind == FileKind::Directory || facts(self) == facts(seen))
    }

    /// Returns true if a wrong clock gave the file its time.
    pub(crate) fn is_ahead_of(&self, now: SystemTime) -> bool {
        self.modified.duration_since(now).is_ok_and(|ahead| ahead > LIKELY_SKEW)
    }
}

/// Device and inode. If the system has neither, two equal values say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The file's number on it.
    pub inode: u64,
}

/// Who owns a file and who may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The user that runs this process owns it.
    pub mine: bool,
    /// Every user of the machine may write it.
    pub writable_by_all: bool,
}

/// A file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Free bytes for this user, or `u64::MAX` if the system does not tell.
    pub available: u64,
    /// Its size in bytes, or `u64::MAX` if the system does not tell.
    pub total: u64,
    /// The network file system, if it is one that this crate knows.
    pub network: Option<&'static str>,
}

/// The most that a correct clock is ahead.
const LIKELY_SKEW: Duration = Duration::from_secs(60 * 60);

/// Gives a file from the future the present time, if possible. Returns its metadata.
pub(crate) fn restart_clock(file: &dyn StorageFile, seen: Metadata, now: SystemTime) -> Metadata {
    if !seen.is_ahead_of(now) {
        return seen;
    }
    file.set_modified(now).and_then(|()| file.metadata()).unwrap_or(seen)
}

/// Fills `buffer` from `offset` on, in as many reads as it takes. Returns the number of bytes,
/// fewer only at the end of the file.
pub(crate) fn read_full(
    file: &dyn StorageFile,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done.min(buffer.len()))
}

/// Writes all of `bytes` from `offset` on, in as many writes as it takes.
pub(crate) fn write_full(file: &dyn StorageFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write_at(rest, offset.saturating_add(done as u64)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns true if nothing has the name, or if a file has the name of a directory above.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates a directory and those above it that are missing.
pub(crate) fn create_with_parents(storage: &dyn Storage, directory: &Path) -> io::Result<()> {
    match storage.create_directory(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = directory.parent().ok_or(error)?;
            create_with_parents(storage, parent)?;
            match storage.create_directory(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                outcome => outcome,
            }
        }
        outcome => outcome,
    }
}

/// Lists the names in a directory. Returns none if there is no such directory.
pub(crate) fn names_in(storage: &dyn Storage, directory: &Path) -> io::Result<Vec<OsString>> {
    match storage.list(directory) {
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        names => names,
    }
}

#[cfg(test)]
mod tests;
