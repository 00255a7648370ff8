//! How is an entry read and checked?
//!
//! A reader opens a file by its name, reads it whole into memory and checks it there, so nothing
//! that another process does later matters. (A mapping saves a copy, and kills this process when
//! another one, or a file server, cuts the file short.)

use std::path::Path;
use std::time::{Duration, SystemTime};

use ptx_key::Digest;
use ptx_store::{Artifact, ArtifactKey, Attributes, EntryKey, Kind, Payload as _};

use crate::error::OnPath as _;
use crate::format::{Header, LONGEST_HEADER, LONGEST_PAYLOAD, Unreadable};
use crate::storage::{
    FileKind, Metadata, Storage, StorageFile, is_gone, is_medium_error, read_full,
};
use crate::{Damage, DiskError};

/// What has a key's name.
pub(crate) enum Found {
    /// An entry that is whole.
    Whole(Box<EntryFile>, Opened),
    /// Nothing.
    Nothing,
    /// A file of a newer release, or one too large for this store's settings. It stays.
    NotReadable,
    /// A damaged file, with its metadata at the time of opening.
    Damaged(Damage, Metadata),
}

/// An entry as it is stored.
pub(crate) struct EntryFile {
    pub(crate) header: Header,
    bytes: Vec<u8>,
    payload_at: usize,
}

/// The file that an entry was read from.
pub(crate) struct Opened {
    pub(crate) metadata: Metadata,
    pub(crate) file: Box<dyn StorageFile>,
}

/// Reads and checks the file at `path`: the entry of `key`, of at most `most_bytes` stored and as
/// many decoded.
///
/// # Errors
///
/// If the file system fails.
pub(crate) fn read(
    storage: &dyn Storage,
    path: &Path,
    key: &EntryKey,
    most_bytes: u64,
) -> Result<Found, DiskError> {
    let file = match storage.open_file(path) {
        Ok(file) => file,
        // Publishing quarantines a file that has the directory's name.
        Err(error) if is_gone(&error) => return Ok(Found::Nothing),
        Err(error) => {
            // Links and sockets cannot be opened at all.
            return match storage.metadata(path) {
                Ok(there) if there.kind != FileKind::File => {
                    Ok(Found::Damaged(Damage::NotAFile, there))
                }
                _ => Err(error).on("open", path),
            };
        }
    };
    let metadata = file.metadata().on("read the metadata of", path)?;
    let damaged = |damage| Ok(Found::Damaged(damage, metadata));
    if metadata.kind != FileKind::File {
        return damaged(Damage::NotAFile);
    }
    if metadata.length > LONGEST_PAYLOAD.saturating_add(LONGEST_HEADER as u64) {
        return damaged(Damage::TooLarge);
    }
    if metadata.length > most_bytes.saturating_add(LONGEST_HEADER as u64) {
        return Ok(Found::NotReadable);
    }
    let Ok(length) = usize::try_from(metadata.length) else { return Ok(Found::NotReadable) };
    let mut bytes = vec![0; length];
    let count = match read_full(&*file, &mut bytes, 0) {
        Ok(count) => count,
        // A sector that cannot be read costs one entry, which is computed again. A dead medium
        // shows when the file is quarantined.
        Err(error) if is_medium_error(&error) => return damaged(Damage::Medium),
        Err(error) => return Err(error).on("read", path),
    };
    bytes.truncate(count);
    match EntryFile::check(bytes, key, most_bytes) {
        Ok(stored) => Ok(Found::Whole(Box::new(stored), Opened { metadata, file })),
        Err(Unreadable::Newer) => Ok(Found::NotReadable),
        Err(Unreadable::Damaged(damage)) => damaged(damage),
    }
}

impl EntryFile {
    /// Checks that `bytes` are the whole file of the entry of `key`.
    pub(crate) fn check(
        bytes: Vec<u8>,
        key: &EntryKey,
        most_bytes: u64,
    ) -> Result<Self, Unreadable> {
        let (header, payload) = Header::read(&bytes)?;
        if header.key != *key {
            return Err(Damage::WrongKey.into());
        }
        if header.stored_bytes.max(header.content_bytes) > most_bytes {
            return Err(Unreadable::Newer);
        }
        if payload.len() as u64 != header.stored_bytes {
            return Err(Damage::Length.into());
        }
        if Digest::of_bytes(payload) != header.stored_digest {
            return Err(Damage::Payload.into());
        }
        let payload_at = bytes.len() - payload.len();
        Ok(Self { header, bytes, payload_at })
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stored payload.
    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload_at..).unwrap_or_default()
    }

    /// Checks the digest of the content too, which a load need not. Returns `Newer` if the encoding
    /// needs a newer release.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn verify(&self) -> Result<(), Unreadable> {
        match self.decode(|content| Digest::of_bytes(content) == self.header.content_digest)? {
            None => Err(Unreadable::Newer),
            Some(true) => Ok(()),
            Some(false) => Err(Damage::Decoding.into()),
        }
    }

    /// Decodes the payload and gives the content to `take`. Returns `None` if the encoding needs a
    /// newer release.
    ///
    /// # Errors
    ///
    /// If the payload does not decode, or a text is no UTF-8.
    pub(crate) fn decode<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Damage> {
        let header = &self.header;
        let checked = |content: &[u8]| {
            let is_text = std::str::from_utf8(content).is_ok();
            (header.key.kind() != Kind::Ptx || is_text).then(|| take(content))
        };
        match header.encoding.decode_with(self.payload(), header.content_bytes, checked)? {
            None => Ok(None),
            Some(None) => Err(Damage::NotText),
            Some(taken) => Ok(taken),
        }
    }

    /// Decodes the artifact. Returns `None` if the encoding needs a newer release.
    ///
    /// # Errors
    ///
    /// If the payload does not decode, or a text is no UTF-8.
    pub(crate) fn artifact<K: ArtifactKey>(&self) -> Result<Option<Artifact<K::Payload>>, Damage> {
        let header = &self.header;
        let decoded = header.encoding.decode_with(
            self.payload(),
            header.content_bytes,
            K::Payload::from_bytes,
        )?;
        let Some(payload) = decoded else { return Ok(None) };
        let payload = payload.ok_or(Damage::NotText)?;
        let mut attributes = header.attributes.clone();
        let created = Duration::from_nanos(header.created_nanos);
        let created = SystemTime::UNIX_EPOCH.checked_add(created);
        attributes.set_created(created.unwrap_or(SystemTime::UNIX_EPOCH));
        if !header.producer.is_empty() {
            attributes.set(Attributes::PRODUCER, header.producer.clone());
        }
        let cost = Duration::from_nanos(header.cost_nanos);
        Ok(Some(Artifact::from_stored(payload, attributes, cost)))
    }
}
