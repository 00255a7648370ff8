//! The only way in which entries are written.
//!
//! A file is written under a random name where no reader looks, and then takes its own name in
//! one step that replaces nothing. So what stands under a key's name is a whole entry at every
//! moment, and the first of two writers stays.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ptx_key::Digest;

use crate::counters::Counters;
use crate::error::OnPath as _;
use crate::folders::make_room_for;
use crate::format::Header;
use crate::layout::Layout;
use crate::quarantine::set_aside;
use crate::read::{Found, read};
use crate::storage::{Storage, StorageFile, write_full};
use crate::{Attributes, DiskError};

/// Attempts to take a name while other processes take and free it.
const ATTEMPTS: u32 = 8;

/// What a published entry survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. A power cut may take the newest entries: what is left of them
    /// is noticed and made anew.
    #[default]
    None,
    /// A power cut may take the newest names, but leaves no name without its bytes.
    Data,
    /// A power cut takes nothing that was reported as published.
    Full,
}

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
}

impl Publisher<'_> {
    /// Publishes the entry whose file is `bytes`, which begin with `header`.
    ///
    /// # Errors
    ///
    /// Where the entry is not there afterwards. Nothing of it is left then, except where the
    /// storage is too broken to remove a file; that is swept later.
    pub(crate) fn publish(&self, header: &Header, bytes: &[u8]) -> Result<Outcome, DiskError> {
        let target = self.layout.entry(&header.key);
        let temporary = self.write_temporary(bytes, None)?;
        for _ in 0..ATTEMPTS {
            match self.storage.rename_new(&temporary.path, &target) {
                Ok(()) => {
                    temporary.published();
                    self.sync_name(&target)?;
                    return Ok(Outcome::New);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    match self.compare(header, &target)? {
                        Standing::Stays(outcome) => return Ok(outcome),
                        Standing::GivesWay => {
                            self.storage.rename(&temporary.path, &target).on("write", &target)?;
                            temporary.published();
                            self.sync_name(&target)?;
                            return Ok(Outcome::OverImported);
                        }
                        Standing::Gone => {}
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    make_room_for(self.storage, self.layout, &target)
                        .on("make a folder for", &target)?;
                }
                Err(error) => return Err(error).on("write", &target),
            }
        }
        let contended = io::Error::new(ErrorKind::ResourceBusy, "its name keeps changing hands");
        Err(contended).on("write", &target)
    }

    /// What to do about the file that stands under the name.
    fn compare(&self, ours: &Header, target: &Path) -> Result<Standing, DiskError> {
        Ok(match read(self.storage, target, &ours.key, self.most_bytes)? {
            Found::Whole(theirs, _) => {
                let kept = theirs.header.content_digest;
                let imported =
                    |header: &Header| header.attributes.get(Attributes::ORIGIN).is_some();
                if kept == ours.content_digest {
                    Standing::Stays(Outcome::AlreadyThere)
                } else if imported(&theirs.header) && !imported(ours) {
                    Standing::GivesWay
                } else {
                    Standing::Stays(Outcome::Conflicting { kept })
                }
            }
            Found::NotForUs => Standing::Stays(Outcome::KeptNewer),
            Found::Nothing => Standing::Gone,
            Found::Damaged(damage, identity) => {
                tracing::debug!(path = %target.display(), %damage, "setting a damaged entry aside");
                if set_aside(self.storage, self.layout, target, identity).on("set aside", target)? {
                    self.counters.quarantined.add();
                }
                Standing::Gone
            }
        })
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
    GivesWay,
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
