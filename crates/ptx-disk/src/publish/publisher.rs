//! How is a file published whole or not at all?
//!
//! A writer writes the file under a random name that no reader knows, and then renames it to the
//! key's name without replacing anything. So a key's name always means a whole entry, and the first
//! of two writers wins.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ptx_key::Digest;
use ptx_store::{Attributes, Size};

use crate::error::OnPath as _;
use crate::format::Header;
use crate::format::layout::Layout;
use crate::read::entry_file::{Found, Opened, read};
use crate::statistics::Counters;
use crate::storage::directories::create_parents_of;
use crate::storage::{Storage, StorageFile, is_gone, write_full};
use crate::upkeep::quarantine::quarantine;
use crate::upkeep::totals::{Change, size_of, size_of_file};
use crate::{DiskError, Durability};

/// Attempts to take a name that other processes take and free.
const ATTEMPTS: u32 = 8;

/// What publishing did.
pub(crate) enum Outcome {
    /// The entry is published.
    New,
    /// It replaced an imported entry with other content.
    OverImported,
    /// An entry with the same content was present.
    AlreadyThere,
    /// An entry with other content was present and stays.
    Conflicting { kept: Digest },
    /// A file of a newer release was present and stays.
    KeptNewer,
}

/// What publishing needs from the store.
pub(crate) struct Publisher<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) layout: &'a Layout,
    pub(crate) durability: Durability,
    pub(crate) most_bytes: u64,
    pub(crate) counters: &'a Counters,
    /// What changed in the entry's directory, also if publishing failed in the end.
    pub(crate) changes: RefCell<Vec<Change>>,
}

impl Publisher<'_> {
    /// Publishes the entry whose file is `bytes`, which begin with `header`.
    ///
    /// # Errors
    ///
    /// If the entry is not published, or may not survive what it should. In the first case nothing
    /// of it is left, unless the storage cannot remove a file. The sweep removes that later.
    pub(crate) fn publish(&self, header: &Header, bytes: &[u8]) -> Result<Outcome, DiskError> {
        let target = self.layout.entry(&header.key);
        let size = size_of_file(bytes.len() as u64);
        let mut temporary = self.write_temporary(bytes, None)?;
        for _ in 0..ATTEMPTS {
            match self.storage.rename_new(&temporary.path, &target) {
                Ok(()) => {
                    temporary.published();
                    self.changed(Change::Added(size));
                    self.sync_name(&target)?;
                    return Ok(Outcome::New);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    match self.compare(header, &target)? {
                        Standing::Stays(outcome) => return Ok(outcome),
                        Standing::Replaced(theirs, old) => {
                            if self.replace(temporary, &target, &theirs).on("write", &target)? {
                                self.changed(Change::Removed(old));
                                self.changed(Change::Added(size));
                                self.sync_name(&target)?;
                                return Ok(Outcome::OverImported);
                            }
                            temporary = self.write_temporary(bytes, None)?;
                        }
                        Standing::Gone => {}
                    }
                }
                Err(error) if is_gone(&error) => {
                    create_parents_of(self.storage, self.layout, &target)
                        .on("create a directory for", &target)?;
                    // The sweep takes a writer that slept for a dead one.
                    if self.storage.metadata(&temporary.path).is_err_and(|error| is_gone(&error)) {
                        temporary = self.write_temporary(bytes, None)?;
                    }
                }
                Err(error) => return Err(error).on("write", &target),
            }
        }
        let contended = io::Error::new(ErrorKind::ResourceBusy, "its name keeps changing hands");
        Err(contended).on("write", &target)
    }

    fn changed(&self, change: Change) {
        self.changes.borrow_mut().push(change);
    }

    /// Decides about the file that has the name.
    fn compare(&self, ours: &Header, target: &Path) -> Result<Standing, DiskError> {
        Ok(match read(self.storage, target, &ours.key, self.most_bytes)? {
            Found::Whole(theirs, opened) => {
                let kept = theirs.header.content_digest;
                let imported =
                    |header: &Header| header.attributes.get(Attributes::ORIGIN).is_some();
                if kept == ours.content_digest {
                    self.sync_theirs(&*opened.file, target)?;
                    Standing::Stays(Outcome::AlreadyThere)
                } else if imported(&theirs.header) && !imported(ours) {
                    let old = size_of_file(theirs.bytes().len() as u64);
                    Standing::Replaced(opened, old)
                } else {
                    Standing::Stays(Outcome::Conflicting { kept })
                }
            }
            Found::NotReadable => Standing::Stays(Outcome::KeptNewer),
            Found::Nothing => Standing::Gone,
            Found::Damaged(damage, found) => {
                tracing::debug!(path = %target.display(), %damage, "quarantining a damaged entry");
                if quarantine(self.storage, self.layout, target, &found).on("quarantine", target)? {
                    self.counters.quarantined.add();
                    self.changed(Change::Removed(size_of(&found)));
                }
                Standing::Gone
            }
        })
    }

    /// Syncs the same content that another process wrote, which may have weaker settings or may not
    /// have synced yet.
    fn sync_theirs(&self, file: &dyn StorageFile, target: &Path) -> Result<(), DiskError> {
        if self.durability == Durability::None {
            return Ok(());
        }
        match file.sync(self.durability == Durability::Full) {
            // Windows syncs no file that is open for reading only.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            synced => synced.on("sync", target)?,
        }
        self.sync_name(target)
    }

    /// Replaces the file that was found under a name with a temporary one. Returns false if the
    /// name means another file by now.
    ///
    /// # Errors
    ///
    /// The storage's error.
    pub(crate) fn replace(
        &self,
        temporary: Temporary<'_>,
        target: &Path,
        found: &Opened,
    ) -> io::Result<bool> {
        let means_found = |path: &Path| match self.storage.metadata(path) {
            Err(error) if is_gone(&error) => Ok(false),
            named => named.map(|named| named.identity == found.metadata.identity),
        };
        if !means_found(target)? {
            return Ok(false);
        }
        match self.storage.exchange(&temporary.path, target) {
            Ok(()) => {}
            Err(error) if is_gone(&error) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.storage.rename(&temporary.path, target)?;
                temporary.published();
                return Ok(true);
            }
            Err(error) => return Err(error),
        }
        // The old file is the temporary one now and is removed. If another process replaced it
        // before the exchange, its file gets the name back.
        let replaced = means_found(&temporary.path)?;
        if !replaced {
            match self.storage.exchange(&temporary.path, target) {
                Err(error) if is_gone(&error) => {
                    self.storage.rename_new(&temporary.path, target)?;
                }
                outcome => outcome?,
            }
        }
        Ok(replaced)
    }

    /// Writes a file under a name that no reader knows.
    pub(crate) fn write_temporary(
        &self,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<Temporary<'_>, DiskError> {
        let (path, file) = self.create_temporary()?;
        let temporary = Temporary { storage: self.storage, path };
        write_full(&*file, bytes, 0).on("write", &temporary.path)?;
        if let Some(time) = modified {
            // Without the time the entry looks recently used.
            let _ = file.set_modified(time);
        }
        match self.durability {
            Durability::None => {}
            Durability::Data => file.sync(false).on("sync", &temporary.path)?,
            Durability::Full => file.sync(true).on("sync", &temporary.path)?,
        }
        Ok(temporary)
    }

    fn create_temporary(&self) -> Result<(PathBuf, Box<dyn StorageFile>), DiskError> {
        let mut path = self.layout.new_temporary();
        let mut outcome = self.storage.create_file(&path);
        for _ in 0..ATTEMPTS {
            match outcome.as_ref().map_err(io::Error::kind) {
                Err(ErrorKind::AlreadyExists) => path = self.layout.new_temporary(),
                Err(ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    create_parents_of(self.storage, self.layout, &path)
                        .on("create a directory for", &path)?;
                }
                _ => break,
            }
            outcome = self.storage.create_file(&path);
        }
        let file = outcome.on("create", &path)?;
        Ok((path, file))
    }

    /// Syncs the names, also those of directories that another process may have created a moment
    /// ago.
    pub(crate) fn sync_name(&self, target: &Path) -> Result<(), DiskError> {
        if self.durability != Durability::Full {
            return Ok(());
        }
        let root = self.layout.root();
        for directory in
            target.ancestors().skip(1).take_while(|directory| directory.starts_with(root))
        {
            self.storage.sync_directory(directory).on("sync", directory)?;
        }
        if let Some(parent) = root.parent() {
            // If this user cannot open it, it existed before the store.
            let _ = self.storage.sync_directory(parent);
        }
        Ok(())
    }
}

enum Standing {
    Stays(Outcome),
    /// Open, so that no other file gets its number.
    Replaced(Opened, Size),
    Gone,
}

/// A file that its drop removes, unless it is published.
pub(crate) struct Temporary<'a> {
    storage: &'a dyn Storage,
    pub(crate) path: PathBuf,
}

impl Temporary<'_> {
    pub(crate) fn published(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // The sweep removes later what cannot be removed now.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}
