//! How are entries compressed again, when there is more time?

use ptx_store::{EntryKey, Size};

use crate::error::OnPath as _;
use crate::format::layout::directory_of;
use crate::format::{Encoding, Header};
use crate::publish::publisher::Publisher;
use crate::read::entry_file::{EntryFile, Found, Opened, read};
use crate::store::{DiskStore, Open};
use crate::upkeep::totals::{Change, size_of_file};
use crate::{Compression, DiskError};

impl DiskStore {
    /// Compresses every entry again where that saves a twentieth or more. Writers compress fast
    /// because a caller waits, while a tool has the time for a higher level. The content, its
    /// digest and the attributes stay. Other processes may read and write meanwhile.
    ///
    /// Each entry remembers the level that was tried, so a second call at the same or a lower level
    /// compresses only newer entries. Returns how many entries are smaller now, and how many bytes
    /// that saved.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed or an entry cannot be written. The entries before it are
    /// done.
    pub fn recompress(&self, compression: Compression) -> Result<Size, DiskError> {
        let mut saved = Size::default();
        let Some(open) = self.writable() else { return Ok(saved) };
        if compression == Compression::Off {
            return Ok(saved);
        }
        for key in self.keys()? {
            let path = open.layout.entry(&key);
            let found = read(&*open.storage, &path, &key, self.config.most_entry_bytes);
            let Ok(Found::Whole(stored, opened)) = found else { continue };
            if was_tried(&stored.header, compression) {
                continue;
            }
            let bytes = self.store_smaller(open, &key, &stored, &opened, compression)?;
            saved.entries += u64::from(bytes > 0);
            saved.bytes += bytes;
        }
        Ok(saved)
    }

    /// Compresses one entry again. Returns how many bytes that saves.
    fn store_smaller(
        &self,
        open: &Open,
        key: &EntryKey,
        stored: &EntryFile,
        opened: &Opened,
        compression: Compression,
    ) -> Result<u64, DiskError> {
        // A load or verify finds what does not decode.
        let Ok(Some(content)) = stored.decode(<[u8]>::to_vec) else { return Ok(0) };
        let (encoding, payload) = compression.encode(key.kind(), &content);
        let mut header = stored.header.clone();
        header.level = compression.level();
        let gains = payload.len() <= stored.payload().len() / 20 * 19;
        let payload = if gains {
            header.encoding = encoding;
            header.stored_digest = ptx_key::Digest::of_bytes(&payload);
            header.stored_bytes = payload.len() as u64;
            &*payload
        } else {
            // The header remembers that this level was tried.
            stored.payload()
        };
        let mut file = header.to_bytes().ok_or(DiskError::AttributesTooLong { key: *key })?;
        file.extend_from_slice(payload);
        let publisher = self.publisher(open);
        let replaced = publisher.replace_stored(key, stored, &file, opened);
        // No trim: a tool trims afterwards, if it wants to.
        let _ = self.note_changes(open, directory_of(key), &publisher.changes.take());
        let saved = (stored.bytes().len() as u64).saturating_sub(file.len() as u64);
        Ok(if replaced? { saved } else { 0 })
    }
}

/// Returns true if the payload is what `compression` gives, or if that level gained nothing before.
fn was_tried(header: &Header, compression: Compression) -> bool {
    let as_high = header.level != 0 && header.level >= compression.level();
    match header.encoding {
        Encoding::ZstdDictionary(_) => {
            as_high && header.encoding == compression.encoding(header.key.kind())
        }
        Encoding::Plain | Encoding::Zstd => as_high,
        // LZ4 blocks have no levels.
        Encoding::Lz4 => true,
    }
}

impl Publisher<'_> {
    /// Replaces the file that was opened, if it still has its name. Returns true if it did. The
    /// time of its last use stays.
    fn replace_stored(
        &self,
        key: &EntryKey,
        stored: &EntryFile,
        bytes: &[u8],
        opened: &Opened,
    ) -> Result<bool, DiskError> {
        let target = self.layout.entry(key);
        let temporary = self.write_temporary(bytes, Some(opened.metadata.modified))?;
        if !self.replace(temporary, &target, opened).on("write", &target)? {
            return Ok(false);
        }
        let size = |bytes: &[u8]| size_of_file(bytes.len() as u64);
        let (before, after) = (size(stored.bytes()), size(bytes));
        if before != after {
            self.changes.borrow_mut().extend([Change::Removed(before), Change::Added(after)]);
        }
        self.sync_name(&target)?;
        Ok(true)
    }
}
