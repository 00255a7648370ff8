//! How does a store use the machine's file system?

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::{Access, FileIdentity, FileKind, FileSystem, Metadata, Storage, StorageFile};

/// Waits between attempts to open what another program holds for a moment, as virus scanners do on
/// Windows.
const PATIENCE: [Duration; 4] = [
    Duration::from_millis(1),
    Duration::from_millis(3),
    Duration::from_millis(10),
    Duration::from_millis(30),
];

/// The file system of the machine, through the standard library and `rustix`.
///
/// New directories and files are private to the user: 0700 and 0600. With
/// [`for_group`](Self::for_group) they are 2770 and 0660 whatever the umask is, for a directory
/// that a group shares. The modes of older ones never change.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsStorage {
    for_group: bool,
}

impl OsStorage {
    /// A storage for one user.
    pub const fn new() -> Self {
        Self { for_group: false }
    }

    /// A storage for a directory that a group shares.
    pub const fn for_group() -> Self {
        Self { for_group: true }
    }

    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        system::refuse_links(&mut options);
        system::set_file_mode(&mut options, if self.for_group { 0o660 } else { 0o600 });
        options
    }

    /// Creates a new file.
    fn make(self, path: &Path, options: &mut OpenOptions) -> io::Result<Box<dyn StorageFile>> {
        let file = patiently(|| options.create_new(true).open(path))?;
        if self.for_group
            && let Err(error) = system::change_mode(&file, 0o660)
        {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        opened(Ok(file))
    }
}

fn opened(file: io::Result<File>) -> io::Result<Box<dyn StorageFile>> {
    file.map(storage_file)
}

/// A file that the caller opened.
pub(crate) fn storage_file(file: File) -> Box<dyn StorageFile> {
    Box::new(OsFile { file, locked: AtomicBool::new(false) })
}

impl Storage for OsStorage {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        system::set_directory_mode(&mut builder, 0o700);
        builder.create(path)?;
        if self.for_group { system::change_directory_mode(path, 0o2770) } else { Ok(()) }
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.make(path, self.options().write(true))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        opened(patiently(|| self.options().read(true).open(path)))
    }

    fn open_or_create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let existing = patiently(|| self.options().read(true).write(true).open(path));
        match existing {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return opened(other),
        }
        match self.make(path, self.options().read(true).write(true)) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                opened(patiently(|| self.options().read(true).write(true).open(path)))
            }
            made => made,
        }
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        Ok(translate(&patiently(|| fs::symlink_metadata(path))?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        patiently(|| fs::rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match patiently(|| system::rename_new(from, to)) {
            Err(error) if unavailable(&error) => {}
            outcome => return outcome,
        }
        match patiently(|| fs::hard_link(from, to)) {
            Err(error) if unavailable(&error) => {}
            Err(error) => return Err(error),
            // The entry has its name. A sweep removes the other name if this fails.
            Ok(()) => {
                let _ = patiently(|| fs::remove_file(from));
                return Ok(());
            }
        }
        // This file system has neither (FAT, some network shares). Between the look and the rename
        // another process may publish. Both files are whole, and the later one stays.
        match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                patiently(|| fs::rename(from, to))
            }
            Err(error) => Err(error),
        }
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        match patiently(|| system::exchange(one, other)) {
            Err(error) if unavailable(&error) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, error))
            }
            outcome => outcome,
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        patiently(|| fs::remove_file(path))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        system::sync_directory(directory)
    }

    fn file_system(&self, directory: &Path) -> io::Result<FileSystem> {
        system::file_system(directory)
    }
}

/// Returns true if this system or file system cannot rename in this way.
fn unavailable(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    // A file system without hard links says EPERM; one without RENAME_NOREPLACE says EINVAL.
    matches!(error.kind(), Unsupported | InvalidInput | PermissionDenied)
}

/// Returns true if the medium failed. The standard library has no kind for that.
pub(crate) fn is_medium_error(error: &io::Error) -> bool {
    system::is_medium_error(error)
}

/// Retries while another program holds the file for a moment.
fn patiently<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for pause in PATIENCE {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if system::is_sharing_violation(&error) => thread::sleep(pause),
            outcome => return outcome,
        }
    }
    operation()
}

#[derive(Debug)]
struct OsFile {
    file: File,
    locked: AtomicBool,
}

impl Drop for OsFile {
    fn drop(&mut self) {
        // A process that was forked meanwhile has the file open too, and would keep the lock.
        if *self.locked.get_mut() {
            let _ = self.file.unlock();
        }
    }
}

impl StorageFile for OsFile {
    fn metadata(&self) -> io::Result<Metadata> {
        Ok(translate(&self.file.metadata()?))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        system::read_at(&self.file, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        system::write_at(&self.file, bytes, offset)
    }

    fn sync(&self, everything: bool) -> io::Result<()> {
        if everything { self.file.sync_all() } else { self.file.sync_data() }
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        system::set_modified(&self.file, time)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => {
                self.locked.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) if system::has_no_locks(&error) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, error))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn translate(metadata: &fs::Metadata) -> Metadata {
    let kind = if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    };
    let (identity, access) = system::details(metadata);
    Metadata {
        kind,
        length: metadata.len(),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        identity,
        access,
    }
}

#[cfg(unix)]
#[path = "os/unix.rs"]
mod system;

#[cfg(not(unix))]
#[path = "os/other.rs"]
mod system;

#[cfg(test)]
mod tests;
