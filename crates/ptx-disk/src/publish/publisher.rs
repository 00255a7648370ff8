//! The only way in which entries are written.
//!
//! A file is written under a random name where no reader looks, and then takes its own name in
//! one step that replaces nothing. So what stands under a key's name is a whole entry at every
//! moment, and the first of two writers stays.

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
use crate::storage::directories::make_room_for;
use crate::storage::{Storage, StorageFile, is_gone, write_full};
use crate::upkeep::quarantine::set_aside;
use crate::upkeep::totals::{Change, size_of, size_of_file};
use crate::{DiskError, Durability};

/// Attempts to take a name while other processes take and free it.
const ATTEMPTS: u32 = 8;

/// What came of publishing.
pub(crate) enum Outcome {
    /// The entry stands under its name.
    New,
    /// It took the place of an imported entry with other content.
    OverImported,
    /// An entry with the same content was there.
    AlreadyThere,
    /// An entry with other content was there, and stays.
    Conflicting { kept: Digest },
    /// A file of a newer release was there, and stays.
    KeptNewer,
}

/// What publishing needs to know of the store.
pub(crate) struct Publisher<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) layout: &'a Layout,
    pub(crate) durability: Durability,
    pub(crate) most_bytes: u64,
    pub(crate) counters: &'a Counters,
    /// What happened in the entry's folder, also where publishing failed in the end.
    pub(crate) changes: RefCell<Vec<Change>>,
}

impl Publisher<'_> {
    /// Publishes the entry whose file is `bytes`, which begin with `header`.
    ///
    /// # Errors
    ///
    /// Where the entry is not there afterwards, or is there and may not survive what it should.
    /// In the first case nothing of it is left, except where the storage is too broken to remove
    /// a file; that is swept later.
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
                        Standing::GivesWay(theirs, old) => {
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
                    make_room_for(self.storage, self.layout, &target)
                        .on("make a folder for", &target)?;
                    // A writer that slept, or a clock that jumped, looks dead to those who sweep.
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

    /// What to do about the file that stands under the name.
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
                    Standing::GivesWay(opened, old)
                } else {
                    Standing::Stays(Outcome::Conflicting { kept })
                }
            }
            Found::NotForUs => Standing::Stays(Outcome::KeptNewer),
            Found::Nothing => Standing::Gone,
            Found::Damaged(damage, found) => {
                tracing::debug!(path = %target.display(), %damage, "setting a damaged entry aside");
                if set_aside(self.storage, self.layout, target, &found).on("set aside", target)? {
                    self.counters.quarantined.add();
                    self.changed(Change::Removed(size_of(&found)));
                }
                Standing::Gone
            }
        })
    }

    /// Lets the same content that another process wrote survive what ours would: it may have had
    /// other settings, or may be about to sync.
    fn sync_theirs(&self, file: &dyn StorageFile, target: &Path) -> Result<(), DiskError> {
        if self.durability == Durability::None {
            return Ok(());
        }
        match file.sync(self.durability == Durability::Full) {
            // Windows syncs nothing that is open for reading alone.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            synced => synced.on("sync", target)?,
        }
        self.sync_name(target)
    }

    /// Puts a temporary file in the place of the one that was found under a name, if that is
    /// still there; whether it was.
    ///
    /// # Errors
    ///
    /// What the storage says.
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
        // What had the name is temporary now, and goes. Another process may have been faster than
        // the exchange: then its file gets its name back.
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

    /// Writes a file that has no name yet that a reader knows.
    pub(crate) fn write_temporary(
        &self,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<Temporary<'_>, DiskError> {
        let (path, file) = self.create_temporary()?;
        let temporary = Temporary { storage: self.storage, path };
        write_full(&*file, bytes, 0).on("write", &temporary.path)?;
        if let Some(time) = modified {
            // Without it the entry looks as if it was used just now.
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
                    make_room_for(self.storage, self.layout, &path)
                        .on("make a folder for", &path)?;
                }
                _ => break,
            }
            outcome = self.storage.create_file(&path);
        }
        let file = outcome.on("create", &path)?;
        Ok((path, file))
    }

    /// Makes the names survive, those of the folders among them: another process may have made
    /// them a moment ago without syncing them.
    pub(crate) fn sync_name(&self, target: &Path) -> Result<(), DiskError> {
        if self.durability != Durability::Full {
            return Ok(());
        }
        let root = self.layout.root();
        for folder in target.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
            self.storage.sync_folder(folder).on("sync", folder)?;
        }
        if let Some(parent) = root.parent() {
            // It may be a folder that this user cannot open; then the store was there before.
            let _ = self.storage.sync_folder(parent);
        }
        Ok(())
    }
}

enum Standing {
    Stays(Outcome),
    /// Held open, so that no other file is taken for it.
    GivesWay(Opened, Size),
    Gone,
}

/// A file that is removed unless it is published.
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
            // What cannot be removed now is swept when it is old.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}
