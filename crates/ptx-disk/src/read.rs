//! The only way in which entries are read.
//!
//! A file is opened by its name, read whole into memory and checked there, so nothing that
//! another process does to it later can matter. (A mapping would be cheaper by a copy, and would
//! kill this process when another one, or a file server, cuts the file short.)

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptx_key::Digest;

use crate::error::OnPath as _;
use crate::format::{Header, LONGEST_HEADER, LONGEST_PAYLOAD, Unreadable};
use crate::storage::{
    FileKind, Metadata, Storage, StorageFile, is_gone, is_medium_error, read_full,
};
use crate::{Damage, DiskError, Entry, EntryKey, Kind, Payload};

/// What stands under a key's name.
pub(crate) enum Found {
    /// An entry whose bytes are the ones that were written.
    Whole(Box<Stored>, Opened),
    /// Nothing.
    Nothing,
    /// A file of a newer release, or one larger than this store is set to read. It stays.
    NotForUs,
    /// Something that should not be there, as it was when it was opened.
    Damaged(Damage, Metadata),
}

/// An entry as it is stored.
pub(crate) struct Stored {
    pub(crate) header: Header,
    bytes: Vec<u8>,
    payload_at: usize,
}

/// The file that an entry was read from.
pub(crate) struct Opened {
    pub(crate) metadata: Metadata,
    pub(crate) file: Box<dyn StorageFile>,
}

/// Reads and checks the file at `path`, which should be the entry of `key`, of at most
/// `most_bytes` stored and as many decoded.
///
/// # Errors
///
/// Where the file system does not let us see.
pub(crate) fn read(
    storage: &dyn Storage,
    path: &Path,
    key: &EntryKey,
    most_bytes: u64,
) -> Result<Found, DiskError> {
    let file = match storage.open_file(path) {
        Ok(file) => file,
        // What stands in the place of the folder is set aside by publishing.
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
    let metadata = file.metadata().on("look at", path)?;
    let damaged = |damage| Ok(Found::Damaged(damage, metadata));
    if metadata.kind != FileKind::File {
        return damaged(Damage::NotAFile);
    }
    if metadata.length > LONGEST_PAYLOAD.saturating_add(LONGEST_HEADER as u64) {
        return damaged(Damage::TooLarge);
    }
    if metadata.length > most_bytes.saturating_add(LONGEST_HEADER as u64) {
        return Ok(Found::NotForUs);
    }
    let Ok(length) = usize::try_from(metadata.length) else { return Ok(Found::NotForUs) };
    let mut bytes = vec![0; length];
    let count = match read_full(&*file, &mut bytes, 0) {
        Ok(count) => count,
        // A sector that cannot be read makes one entry worthless, and it is written anew
        // elsewhere. A dead medium shows when the file is set aside.
        Err(error) if is_medium_error(&error) => return damaged(Damage::Medium),
        Err(error) => return Err(error).on("read", path),
    };
    bytes.truncate(count);
    match Stored::check(bytes, key, most_bytes) {
        Ok(stored) => Ok(Found::Whole(Box::new(stored), Opened { metadata, file })),
        Err(Unreadable::Newer) => Ok(Found::NotForUs),
        Err(Unreadable::Damaged(damage)) => damaged(damage),
    }
}

impl Stored {
    /// `bytes`, if they are the whole file of the entry of `key`.
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

    /// Checks the content's own digest too, which loading need not; `Newer` where the encoding
    /// needs a newer release.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn verify(&self) -> Result<(), Unreadable> {
        match self.entry()? {
            None => Err(Unreadable::Newer),
            Some(entry)
                if Digest::of_bytes(entry.payload.as_bytes()) == self.header.content_digest =>
            {
                Ok(())
            }
            Some(_) => Err(Damage::Decoding.into()),
        }
    }

    /// The entry that these bytes are; `None` where its encoding needs a newer release.
    pub(crate) fn entry(&self) -> Result<Option<Entry>, Damage> {
        let header = &self.header;
        let payload = |content: &[u8]| match header.key.kind() {
            Kind::Ptx => {
                let text = std::str::from_utf8(content).map_err(|_| Damage::NotText)?;
                Ok(Payload::Ptx(Arc::from(text)))
            }
            Kind::Cubin => Ok(Payload::Cubin(Arc::from(content))),
        };
        let decoded = header.encoding.decode_with(self.payload(), header.content_bytes, payload)?;
        let Some(payload) = decoded.transpose()? else { return Ok(None) };
        let created = Duration::from_nanos(header.created_nanos);
        Ok(Some(Entry {
            payload,
            cost: Duration::from_nanos(header.cost_nanos),
            created: SystemTime::UNIX_EPOCH.checked_add(created).unwrap_or(SystemTime::UNIX_EPOCH),
            producer: header.producer.clone(),
            attributes: header.attributes.clone(),
        }))
    }
}
