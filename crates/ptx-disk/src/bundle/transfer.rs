//! How do entries get into a bundle, and out of it into a store?

use std::fs::File;
use std::io;
use std::path::Path;

use ptx_store::{Attributes, EntryKey};

use super::index::{FIXED, Index, MAGIC};
use super::reader::Missing;
use crate::error::OnPath as _;
use crate::format::Header;
use crate::format::layout::new_name;
use crate::publish::publisher::Outcome;
use crate::read::entry_file::{EntryFile, Found};
use crate::storage::{
    FileKind, Storage, StorageFile, is_gone, read_full, storage_file, write_full,
};
use crate::store::{DiskStore, Open};
use crate::{Bundle, DiskError};

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Entries that the store did not have.
    pub added: u64,
    /// Entries that the store had with the same content.
    pub already_there: u64,
    /// Entries that the store had with other content, which stayed.
    pub kept: u64,
    /// Entries that are damaged, of a newer release, too large for this store's settings, or
    /// without room in the header for their origin.
    pub unusable: u64,
}

impl DiskStore {
    /// Writes the entries that `chosen` picks into a bundle at `path`, replacing a bundle there.
    /// Returns their number. The same entries under the same name always give the same bytes.
    ///
    /// # Errors
    ///
    /// [`DiskError::NotWritable`] if the store is off, [`DiskError::BadSetting`] for a name of more
    /// than 255 bytes, and [`DiskError::Storage`] if the bundle cannot be written or something else
    /// is at `path`, which stays. Then nothing is left of the bundle.
    pub fn export(
        &self,
        path: &Path,
        name: &str,
        chosen: impl Fn(&EntryKey) -> bool,
    ) -> Result<u64, DiskError> {
        let open = self.open.as_ref().ok_or(DiskError::NotWritable)?;
        let storage = &*open.storage;
        refuse_to_replace(storage, path)?;
        let directory = path.parent().unwrap_or(path);
        let temporary = directory.join(format!(".{}", new_name(std::process::id())));
        let file = storage.create_file(&temporary).on("create", &temporary)?;
        let written = self.write_bundle(open, &*file, &temporary, name, chosen);
        let outcome = written.and_then(|entries| {
            storage.rename(&temporary, path).on("write", path)?;
            // The directory is the caller's, and the bundle is whole without this.
            let _ = storage.sync_directory(directory);
            Ok(entries)
        });
        if outcome.is_err() {
            // If it cannot be removed it stays, under a random name.
            let _ = storage.remove_file(&temporary);
        }
        outcome
    }

    /// Writes such a bundle into an empty file, for a caller who chooses its permissions and what
    /// it replaces. Errors name the file `path`.
    ///
    /// # Errors
    ///
    /// Those of [`export`](Self::export). Then the file holds no bundle.
    pub fn export_to(
        &self,
        file: File,
        path: &Path,
        name: &str,
        chosen: impl Fn(&EntryKey) -> bool,
    ) -> Result<u64, DiskError> {
        let open = self.open.as_ref().ok_or(DiskError::NotWritable)?;
        self.write_bundle(open, &*storage_file(file), path, name, chosen)
    }

    /// Writes a bundle and syncs it. Returns the number of its entries.
    fn write_bundle(
        &self,
        open: &Open,
        file: &dyn StorageFile,
        path: &Path,
        name: &str,
        chosen: impl Fn(&EntryKey) -> bool,
    ) -> Result<u64, DiskError> {
        let mut index = Index { name: name.to_owned(), entries: Vec::new() };
        let mut offset = (FIXED + name.len()) as u64;
        for key in self.keys()? {
            if !chosen(&key) {
                continue;
            }
            // Skips entries that are damaged or gone by now.
            let Ok(Found::Whole(stored, _)) = self.read_stored(open, &key) else { continue };
            write_full(file, stored.bytes(), offset).on("write", path)?;
            let length = stored.bytes().len() as u64;
            index.entries.push((key, length));
            offset = offset.saturating_add(length);
        }
        let (head, tail) = index.to_bytes().ok_or_else(|| DiskError::BadSetting {
            name: "bundle name",
            value: name.to_owned(),
            expected: "give a name of at most 255 bytes and at most 4,194,304 entries",
        })?;
        write_full(file, &tail, offset).on("write", path)?;
        write_full(file, &head, 0).on("write", path)?;
        file.sync(true).on("sync", path)?;
        Ok(index.entries.len() as u64)
    }

    /// Copies the entries of a bundle into the store, with the bundle's name as their origin. An
    /// entry that is present stays, whatever its origin.
    ///
    /// # Errors
    ///
    /// [`DiskError::NotWritable`], or if an entry cannot be written. The entries before it stay.
    pub fn import(&self, bundle: &Bundle) -> Result<Imported, DiskError> {
        let mut imported = Imported::default();
        let open = self.writable().ok_or(DiskError::NotWritable)?;
        for key in bundle.keys() {
            let file = match bundle.stored(key, self.config.most_entry_bytes) {
                Ok(Some(stored)) if stored.verify().is_ok() => with_origin(&stored, bundle.name()),
                Err(Missing::Failed(error)) => return Err(error),
                _ => None,
            };
            let Some((header, bytes)) = file else {
                imported.unusable += 1;
                continue;
            };
            match self.publish(open, &header, &bytes)? {
                Outcome::New | Outcome::OverImported => imported.added += 1,
                Outcome::AlreadyThere => imported.already_there += 1,
                Outcome::Conflicting { .. } | Outcome::KeptNewer => imported.kept += 1,
            }
        }
        Ok(imported)
    }
}

/// Fails if there is anything but a bundle at `path`.
fn refuse_to_replace(storage: &dyn Storage, path: &Path) -> Result<(), DiskError> {
    let is_bundle = match storage.metadata(path) {
        Ok(found) if found.kind == FileKind::File => {
            let mut start = [0; MAGIC.len()];
            let file = storage.open_file(path).on("open", path)?;
            read_full(&*file, &mut start, 0).on("read", path)?;
            Bundle::is_start(&start)
        }
        Ok(_) => false,
        Err(error) if is_gone(&error) => true,
        Err(error) => return Err(error).on("read the metadata of", path),
    };
    if is_bundle {
        return Ok(());
    }
    let cause = "it is not a bundle, so it stays: name another path";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, cause)).on("replace", path)
}

/// The file of an imported entry. Returns `None` if its header has no room for the origin.
fn with_origin(stored: &EntryFile, origin: &str) -> Option<(Header, Vec<u8>)> {
    let mut header = stored.header.clone();
    header.attributes.set(Attributes::ORIGIN, origin);
    let mut file = header.to_bytes()?;
    file.extend_from_slice(stored.payload());
    Some((header, file))
}
