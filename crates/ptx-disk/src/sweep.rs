//! Removes what dead processes left behind.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::layout::Layout;
use crate::storage::{FileKind, Storage, names_in, restart_clock};

/// Removes files older than `age` from the folder where files are written before they are
/// published; how many. A live writer needs its file for moments.
///
/// # Errors
///
/// Where the folder cannot be listed. One file that cannot be removed does not stop it.
pub(crate) fn sweep_temporary(
    storage: &dyn Storage,
    layout: &Layout,
    age: Duration,
    now: SystemTime,
) -> io::Result<u64> {
    let remove = |path: &Path| storage.remove_file(path).is_ok();
    sweep(storage, &layout.temporary(), age, now, remove)
}

/// Removes claim files older than `age` that nobody holds, from one of the folders that they are
/// spread over; how many.
///
/// It removes a file while it holds its lock, and those who lock a file check that it still has
/// its name, so nobody holds a claim on a file that is gone.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub(crate) fn sweep_claims(
    storage: &dyn Storage,
    layout: &Layout,
    first_byte: u8,
    age: Duration,
    now: SystemTime,
) -> io::Result<u64> {
    let remove = |path: &Path| {
        let Ok(file) = storage.open_or_create_file(path) else { return false };
        let ours = match file.try_lock() {
            Ok(ours) => ours,
            // Where there are no locks a file this old is a lease without a heart.
            Err(error) => error.kind() == io::ErrorKind::Unsupported,
        };
        let named =
            || Some(storage.metadata(path).ok()?.identity == file.metadata().ok()?.identity);
        ours && named() == Some(true) && storage.remove_file(path).is_ok()
    };
    sweep(storage, &layout.claims(first_byte), age, now, remove)
}

fn sweep(
    storage: &dyn Storage,
    folder: &Path,
    age: Duration,
    now: SystemTime,
    remove: impl Fn(&Path) -> bool,
) -> io::Result<u64> {
    let mut removed = 0;
    for name in names_in(storage, folder)? {
        let path = folder.join(name);
        let Ok(metadata) = storage.metadata(&path) else { continue };
        if metadata.is_ahead_of(now) && metadata.kind == FileKind::File {
            // It would never grow old. Where the time cannot be set it stays, as if in use.
            let _ = storage.open_file(&path).map(|file| restart_clock(&*file, metadata, now));
        }
        let old = now.duration_since(metadata.modified).is_ok_and(|elapsed| elapsed >= age);
        if old && metadata.kind == FileKind::File && remove(&path) {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests;
