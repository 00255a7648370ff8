//! How do leftovers of dead processes and entries that nobody uses go?

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ptx_store::Size;

use crate::format::layout::Layout;
use crate::storage::{FileKind, Metadata, Storage, names_in, restart_clock};
use crate::upkeep::totals::size_of;

/// Removes temporary files older than `age`. Returns their number. A live writer needs its file for
/// moments.
///
/// # Errors
///
/// If the directory cannot be listed. A file that cannot be removed does not stop the sweep.
pub(crate) fn sweep_temporary(
    storage: &dyn Storage,
    layout: &Layout,
    age: Duration,
    now: SystemTime,
) -> io::Result<u64> {
    let remove = |path: &Path| storage.remove_file(path).is_ok();
    sweep(storage, &layout.temporary(), age, now, remove)
}

/// Removes claim files older than `age` that nobody holds, from one directory of claims. Returns
/// their number.
///
/// The sweep holds a file's lock while it removes the file. A claim checks that the file it locked
/// still has its name, so nobody holds a claim on a removed file.
///
/// # Errors
///
/// If the directory cannot be listed.
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
            // Without locks, a file this old is a lease that nobody touches.
            Err(error) => error.kind() == io::ErrorKind::Unsupported,
        };
        let named =
            || Some(storage.metadata(path).ok()?.identity == file.metadata().ok()?.identity);
        ours && named() == Some(true) && storage.remove_file(path).is_ok()
    };
    sweep(storage, &layout.claims(first_byte), age, now, remove)
}

/// Entries that one sweep looks at, so that it costs the same however many there are.
const MOST_ENTRIES: usize = 32;

/// Removes entries that nobody used for `age`, of a few in one directory. Returns what each took.
///
/// # Errors
///
/// If the directory cannot be listed.
pub(crate) fn sweep_entries(
    storage: &dyn Storage,
    layout: &Layout,
    directory: u8,
    age: Duration,
    now: SystemTime,
) -> io::Result<Vec<Size>> {
    let mut removed = Vec::new();
    let directory = layout.entries(directory);
    let names = fastrand::choose_multiple(names_in(storage, &directory)?, MOST_ENTRIES);
    for (path, metadata) in older_than(storage, &directory, names, age, now) {
        if storage.remove_file(&path).is_ok() {
            removed.push(size_of(&metadata));
        }
    }
    Ok(removed)
}

fn sweep(
    storage: &dyn Storage,
    directory: &Path,
    age: Duration,
    now: SystemTime,
    remove: impl Fn(&Path) -> bool,
) -> io::Result<u64> {
    let old = older_than(storage, directory, names_in(storage, directory)?, age, now);
    Ok(old.iter().filter(|(path, _)| remove(path)).count() as u64)
}

/// The files of these names that nobody changed for `age`.
fn older_than(
    storage: &dyn Storage,
    directory: &Path,
    names: Vec<OsString>,
    age: Duration,
    now: SystemTime,
) -> Vec<(PathBuf, Metadata)> {
    let mut old = Vec::new();
    for name in names {
        let path = directory.join(name);
        let Ok(metadata) = storage.metadata(&path) else { continue };
        if metadata.kind != FileKind::File {
            continue;
        }
        if metadata.is_ahead_of(now) {
            // A file from the future would never grow old. If its time cannot be set it stays.
            let _ = storage.open_file(&path).map(|file| restart_clock(&*file, metadata, now));
        }
        if now.duration_since(metadata.modified).is_ok_and(|elapsed| elapsed >= age) {
            old.push((path, metadata));
        }
    }
    old
}

#[cfg(test)]
mod tests;
