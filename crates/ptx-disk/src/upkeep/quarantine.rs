//! Where do damaged files go? To a place where a person can look at them and no reader finds them.
//!
//! The number of places is fixed and a file takes one at random, so quarantine is bounded and
//! nothing counts it.

use std::io;
use std::path::Path;

use crate::format::layout::{Layout, QUARANTINE_PLACES};
use crate::storage::{FileKind, Metadata, Storage, create_with_parents, is_gone};

/// Places to try before the file is removed. One may hold a directory, which no file replaces.
const ATTEMPTS: u32 = 4;

/// Quarantines the file at `path`, if it is still the one that was found damaged. Returns true if
/// it was. Another process may have quarantined it, or published a whole one, in the meantime.
///
/// # Errors
///
/// If the file can be neither moved nor removed.
pub(crate) fn quarantine(
    storage: &dyn Storage,
    layout: &Layout,
    path: &Path,
    damaged: &Metadata,
) -> io::Result<bool> {
    let found = match storage.metadata(path) {
        Err(error) if is_gone(&error) => return Ok(false),
        found => found?,
    };
    if !found.is_still(damaged) {
        return Ok(false);
    }
    let first = fastrand::u32(..QUARANTINE_PLACES);
    for attempt in 0..ATTEMPTS {
        let place = layout.quarantine(first + attempt);
        if found.kind == FileKind::Directory {
            // A directory replaces no file.
            let _ = storage.remove_file(&place);
        }
        let mut outcome = storage.rename(path, &place);
        if outcome.as_ref().is_err_and(is_gone) {
            if storage.metadata(path).is_err_and(|error| is_gone(&error)) {
                return Ok(false);
            }
            let _ = create_places(storage, layout);
            outcome = storage.rename(path, &place);
        }
        if outcome.is_ok() {
            return Ok(stayed_the_same(storage, path, &place, damaged));
        }
    }
    if found.kind == FileKind::Directory {
        return Err(io::Error::other("a directory stands where a file should be: remove it"));
    }
    storage.remove_file(path).map(|()| true)
}

/// Creates the directory of damaged files. A file in its place is removed, since there is nowhere
/// to move it.
fn create_places(storage: &dyn Storage, layout: &Layout) -> io::Result<()> {
    let places = layout.quarantine_directory();
    let made = create_with_parents(storage, &places);
    if storage.metadata(&places)?.kind == FileKind::Directory {
        return made;
    }
    storage.remove_file(&places)?;
    create_with_parents(storage, &places)
}

/// Checks what was moved. A new, whole file that took the name between the look and the rename gets
/// it back.
fn stayed_the_same(storage: &dyn Storage, path: &Path, place: &Path, damaged: &Metadata) -> bool {
    match storage.metadata(place) {
        Ok(moved) if !moved.is_still(damaged) => {
            // If the name is taken again, the newer file stays.
            let _ = storage.rename_new(place, path);
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests;
