//! Which directories does a store create, and whom does it trust?

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::DiskError;
use crate::error::OnPath as _;
use crate::format::layout::Layout;
use crate::storage::create_with_parents;
use crate::storage::{FileKind, Storage, StorageFile, is_gone, read_full, write_full};
use crate::upkeep::quarantine::quarantine;

/// The first line is the signature that backup programs look for.
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n\
    # The artifacts in this directory can be computed again at any time.\n";

/// Checks the store's directory. Creates it if it is missing and `create` is true.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn prepare_root(
    storage: &dyn Storage,
    layout: &Layout,
    create: bool,
    trust_others: bool,
) -> Result<(), DiskError> {
    let root = layout.root();
    // The dot makes the system follow a link of the user's.
    match storage.metadata(&root.join(".")) {
        Ok(metadata) if metadata.kind == FileKind::Directory => {
            if trust_others {
                return Ok(());
            }
            if !metadata.access.mine {
                return Err(DiskError::OwnedByAnother { path: root.to_owned() });
            }
            if metadata.access.writable_by_all {
                return Err(DiskError::WritableByAll { path: root.to_owned() });
            }
            Ok(())
        }
        Ok(_) => Err(DiskError::NotADirectory { path: root.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(DiskError::NotADirectory { path: root.to_owned() })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if create {
                create_with_parents(storage, root).on("create the directory", root)?;
                // The store works without the tag.
                let _ =
                    storage.create_file(&layout.tag()).and_then(|tag| write_full(&*tag, TAG, 0));
            }
            Ok(())
        }
        Err(error) => Err(error).on("read the metadata of", root),
    }
}

/// Returns true if the directory has entries, or the tag that a store leaves in it.
///
/// # Errors
///
/// If the file system does not say.
pub(crate) fn is_store(storage: &dyn Storage, layout: &Layout) -> Result<bool, DiskError> {
    let (entries, tag) = (layout.all_entries(), layout.tag());
    match storage.metadata(&entries) {
        Ok(metadata) if metadata.kind == FileKind::Directory => return Ok(true),
        Err(error) if !is_gone(&error) => return Err(error).on("read the metadata of", &entries),
        _ => {}
    }
    match storage.metadata(&tag) {
        Ok(metadata) if metadata.kind == FileKind::File => {}
        Err(error) if !is_gone(&error) => return Err(error).on("read the metadata of", &tag),
        _ => return Ok(false),
    }
    // Other programs leave such a tag too, with another second line.
    let file = storage.open_file(&tag).on("open", &tag)?;
    let mut bytes = [0; TAG.len()];
    Ok(read_full(&*file, &mut bytes, 0).on("read", &tag)? == TAG.len() && bytes == *TAG)
}

/// Opens one of the store's own files for reading and writing, and creates it if it is missing.
/// Quarantines what has its name and is no file.
///
/// # Errors
///
/// The storage's error.
pub(crate) fn open_own_file(
    storage: &dyn Storage,
    layout: &Layout,
    path: &Path,
) -> io::Result<Box<dyn StorageFile>> {
    let found = match storage.open_or_create_file(path) {
        Ok(file) => match file.metadata()? {
            metadata if metadata.kind == FileKind::File => return Ok(file),
            metadata => metadata,
        },
        Err(error) if is_gone(&error) => {
            create_parents_of(storage, layout, path)?;
            return storage.open_or_create_file(path);
        }
        // Directories and links cannot be opened.
        Err(error) => match storage.metadata(path) {
            Ok(metadata) if metadata.kind != FileKind::File => metadata,
            _ => return Err(error),
        },
    };
    quarantine(storage, layout, path, &found)?;
    storage.open_or_create_file(path)
}

/// Creates the directories above `path` that are missing, the store's own included. Quarantines
/// what has the name of one and is none.
pub(crate) fn create_parents_of(
    storage: &dyn Storage,
    layout: &Layout,
    path: &Path,
) -> io::Result<()> {
    let root = layout.root();
    create_with_parents(storage, root)?;
    let between: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|directory| *directory != root && directory.starts_with(root))
        .collect();
    for directory in between.into_iter().rev() {
        match storage.create_directory(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let there = storage.metadata(directory)?;
                if there.kind == FileKind::Directory {
                    continue;
                }
                quarantine(storage, layout, directory, &there)?;
                match storage.create_directory(directory) {
                    // Another process was faster.
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    made => made?,
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
