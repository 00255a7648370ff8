//! Everything the store asks of a file system, behind one trait.
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
pub(crate) use os::is_medium_error;

/// Files and directories by path. Paths are absolute, or at least mean the same in every call.
///
/// An error carries the [`io::ErrorKind`] that the standard library gives it on a real system:
/// the store acts on `NotFound`, `AlreadyExists` and `Unsupported`, and treats every other one as
/// the medium's failure.
pub trait Storage: fmt::Debug + Send + Sync + 'static {
    /// Makes one directory. Its parent must be there; `AlreadyExists` when anything has the name.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes a new file and opens it for writing; `AlreadyExists` when anything has the name.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Opens what has this name for reading, without following a link in the last place and
    /// without blocking on what is not a regular file. The caller must look at the metadata of
    /// what it got.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn open_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Opens a file for reading and writing, and makes it where there is none. What it holds
    /// stays. Does not follow a link in the last place.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn open_or_create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// What has this name. Does not follow a link in the last place.
    ///
    /// # Errors
    ///
    /// What the system says; `NotFound` where there is nothing.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Gives what is named `from` the name `to`, in one step, over whatever file has that name.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file the name `to`, in one step; `AlreadyExists` when anything has that name.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives two files each other's names, in one step.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the file system has no such step; otherwise what the system says.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Takes a file's name away. Those who have it open go on reading it.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, in no order. Sweeping and trimming list; reading never does.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>>;

    /// Makes the names in a directory survive a power cut.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// What is known of the file system that holds a directory.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn file_system(&self, directory: &Path) -> io::Result<FileSystem>;
}

/// An open file. Reads and writes name their place, so that threads can share one.
pub trait StorageFile: Send + Sync {
    /// What this file is, whatever has its name by now.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Reads bytes from `offset` on; how many, 0 at the end.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes from `offset` on; how many.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes the file's bytes survive a power cut; with `everything` its metadata too.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn sync(&self, everything: bool) -> io::Result<()>;

    /// Sets the time of last change.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn set_modified(&self, time: SystemTime) -> io::Result<()>;

    /// Locks the file against every other opening of it, in this process and in others; whether
    /// that worked. The lock goes when this opening is closed, also by the death of the process.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the file system has no locks; otherwise what the system says.
    fn try_lock(&self) -> io::Result<bool>;
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, a pipe, a socket, a device.
    Other,
}

/// What the file system says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub length: u64,
    /// When its bytes last changed.
    pub modified: SystemTime,
    /// Which file it is, so that a name can be checked to still mean the same file.
    pub identity: FileIdentity,
    /// Who may write it.
    pub access: Access,
}

impl Metadata {
    /// Whether this is the file that `seen` was, and nobody changed it since. Systems give the
    /// number of a file that is gone to the next one, so the number alone does not tell.
    pub(crate) fn is_still(&self, seen: &Self) -> bool {
        let facts = |file: &Self| (file.length, file.modified);
        let same = self.identity == seen.identity && self.kind == seen.kind;
        same && (self.kind == FileKind::Directory || facts(self) == facts(seen))
    }

    /// Whether a clock that was wrong gave it its time of last change.
    pub(crate) fn is_ahead_of(&self, now: SystemTime) -> bool {
        self.modified.duration_since(now).is_ok_and(|ahead| ahead > LIKELY_SKEW)
    }
}

/// Device and inode. Where the system tells neither, two equal values mean that nothing
/// contradicts that the files are the same.
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

/// What is known of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Free bytes that this user may take; `u64::MAX` where the system does not tell.
    pub available: u64,
    /// Its size in bytes; `u64::MAX` where the system does not tell.
    pub total: u64,
    /// The kind of network file system, where it is one that this crate knows.
    pub network: Option<&'static str>,
}

/// How far ahead a time of last change may be before the clock that gave it counts as wrong.
const LIKELY_SKEW: Duration = Duration::from_secs(60 * 60);

/// Gives a file from the future the present time, if that can be; what it is then.
pub(crate) fn restart_clock(file: &dyn StorageFile, seen: Metadata, now: SystemTime) -> Metadata {
    if !seen.is_ahead_of(now) {
        return seen;
    }
    file.set_modified(now).and_then(|()| file.metadata()).unwrap_or(seen)
}

/// Fills `buffer` from `offset` on, in as many reads as the system makes of it; how many bytes
/// there were, fewer only at the end of the file.
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

/// Writes all of `bytes` from `offset` on, in as many writes as the system makes of it.
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

/// Whether nothing has the name: nothing is there, or a file stands where a directory above should be.
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

/// The names in a directory; none where there is no such directory.
pub(crate) fn names_in(storage: &dyn Storage, directory: &Path) -> io::Result<Vec<OsString>> {
    match storage.list(directory) {
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        names => names,
    }
}

#[cfg(test)]
mod tests;
