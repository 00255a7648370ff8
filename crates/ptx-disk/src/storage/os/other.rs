//! What does the standard library have for systems that are not Unix?

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{Access, FileIdentity, FileSystem};

pub(super) fn refuse_links(_options: &mut OpenOptions) {}

pub(super) fn set_file_mode(_options: &mut OpenOptions, _mode: u32) {}

pub(super) fn set_directory_mode(_builder: &mut DirBuilder, _mode: u32) {}

pub(super) fn change_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn change_directory_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    // A hard link refuses a name that is taken.
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

#[cfg(not(windows))]
pub(super) fn read_at(_file: &File, _buffer: &mut [u8], _offset: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(windows))]
pub(super) fn write_at(_file: &File, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn set_modified(file: &File, time: SystemTime) -> io::Result<()> {
    file.set_modified(time)
}

pub(super) fn sync_directory(_directory: &Path) -> io::Result<()> {
    // NTFS journals names. No call syncs a directory.
    Ok(())
}

pub(super) fn is_sharing_violation(error: &io::Error) -> bool {
    // ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION.
    cfg!(windows) && matches!(error.raw_os_error(), Some(32 | 33))
}

pub(super) fn is_medium_error(error: &io::Error) -> bool {
    // ERROR_CRC and ERROR_IO_DEVICE.
    cfg!(windows) && matches!(error.raw_os_error(), Some(23 | 1117))
}

pub(super) fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

pub(super) fn details(_metadata: &fs::Metadata) -> (FileIdentity, Access) {
    // The profile directory's own access list keeps other users out.
    let access = Access { mine: true, writable_by_all: false };
    (FileIdentity::default(), access)
}

pub(super) fn file_system(_directory: &Path) -> io::Result<FileSystem> {
    Ok(FileSystem { available: u64::MAX, total: u64::MAX, network: None })
}
