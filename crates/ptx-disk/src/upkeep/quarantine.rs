//! Sets damaged files aside, where a person can look at them and no reader meets them again.
//!
//! The number of places is fixed and a file takes one at random, so what is set aside is bounded
//! without anybody counting it.

use std::io;
use std::path::Path;

use crate::format::layout::{Layout, QUARANTINE_PLACES};
use crate::storage::{FileKind, Metadata, Storage, create_with_parents, is_gone};

/// Places to try before the file is removed instead: one may hold a folder, which no file
/// replaces.
const ATTEMPTS: u32 = 4;

/// Sets aside what is named `path`, if it is still the file that was found damaged; whether it
/// was. Another process may have set it aside, or written a good one there, in the meantime.
///
/// # Errors
///
/// Where the file could be neither moved nor removed.
pub(crate) fn set_aside(
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
        if found.kind == FileKind::Folder {
            // A folder replaces no file.
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
    if found.kind == FileKind::Folder {
        return Err(io::Error::other("a folder stands where a file should be: remove it"));
    }
    storage.remove_file(path).map(|()| true)
}

/// Creates the directory of damaged files. A file in its place is removed, since there is nowhere
/// to move it.
fn create_places(storage: &dyn Storage, layout: &Layout) -> io::Result<()> {
    let places = layout.quarantine_folder();
    let made = create_with_parents(storage, &places);
    if storage.metadata(&places)?.kind == FileKind::Folder {
        return made;
    }
    storage.remove_file(&places)?;
    create_with_parents(storage, &places)
}

/// The name may have come to mean a new, good file between the look and the rename. Then that
/// file goes back.
fn stayed_the_same(storage: &dyn Storage, path: &Path, place: &Path, damaged: &Metadata) -> bool {
    match storage.metadata(place) {
        Ok(moved) if !moved.is_still(damaged) => {
            // Where the name is taken again the newer file stays.
            let _ = storage.rename_new(place, path);
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests;
