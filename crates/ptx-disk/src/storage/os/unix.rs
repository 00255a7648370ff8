//! What does Unix have beyond the standard library?

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::{Access, FileIdentity, FileSystem};

pub(super) fn refuse_links(options: &mut OpenOptions) {
    // Opening a pipe blocks until somebody writes to it.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

pub(super) fn set_file_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

pub(super) fn set_directory_mode(builder: &mut DirBuilder, mode: u32) {
    builder.mode(mode);
}

pub(super) fn change_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Changes the directory itself, never what a link in its place names.
pub(super) fn change_directory_mode(path: &Path, mode: u32) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let directory =
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    change_mode(&directory, mode)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

pub(super) fn set_modified(file: &File, time: SystemTime) -> io::Result<()> {
    match file.set_modified(time) {
        // A user who may write another's file may only give it the present time.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_present(time) => {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            let times = Timestamps { last_access: now, last_modification: now };
            Ok(rustix::fs::futimens(file, &times)?)
        }
        outcome => outcome,
    }
}

fn is_present(time: SystemTime) -> bool {
    let since = SystemTime::now().duration_since(time);
    since.unwrap_or_else(|ahead| ahead.duration()) < Duration::from_secs(1)
}

pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(super) fn is_sharing_violation(_error: &io::Error) -> bool {
    false
}

pub(super) fn is_medium_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

pub(super) fn has_no_locks(error: &io::Error) -> bool {
    // ENOLCK: an NFS server without a lock manager.
    let absent = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP];
    error.kind() == io::ErrorKind::Unsupported
        || absent.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

pub(super) fn details(metadata: &fs::Metadata) -> (FileIdentity, Access) {
    let access = Access {
        mine: metadata.uid() == rustix::process::geteuid().as_raw(),
        writable_by_all: metadata.mode() & 0o002 != 0,
    };
    let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
    (identity, access)
}

#[cfg(target_os = "linux")]
pub(super) fn file_system(directory: &Path) -> io::Result<FileSystem> {
    let facts = rustix::fs::statfs(directory)?;
    // The field's type differs between architectures.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "magic numbers are 32 bits wide"
    )]
    let magic = facts.f_type as u32;
    let block = u64::try_from(facts.f_bsize).unwrap_or(0);
    Ok(FileSystem {
        available: facts.f_bavail.saturating_mul(block),
        total: facts.f_blocks.saturating_mul(block),
        network: network_name(magic),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn file_system(directory: &Path) -> io::Result<FileSystem> {
    let facts = rustix::fs::statvfs(directory)?;
    Ok(FileSystem {
        available: facts.f_bavail.saturating_mul(facts.f_frsize),
        total: facts.f_blocks.saturating_mul(facts.f_frsize),
        network: None,
    })
}

/// From the Linux header `linux/magic.h` and the file systems' own sources.
#[cfg(target_os = "linux")]
pub(super) fn network_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0xFF53_4D42 | 0xFE53_4D42 | 0x517B => "SMB",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x00C3_6400 => "Ceph",
        0x5346_414F => "AFS",
        0x0102_1997 => "9P",
        _ => return None,
    })
}
