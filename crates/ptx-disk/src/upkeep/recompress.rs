//! Storing entries smaller than their writers had time to.

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
    /// Stores every entry anew with `compression` where that saves a twentieth or more. Writers
    /// compress fast because a caller waits for them; a tool has the time for a higher level. The
    /// content, its digest and all that is known of an entry stay; other processes may read and
    /// write meanwhile.
    ///
    /// Each entry remembers the level that was tried, so a second call at the same level or a
    /// lower one compresses only what was written since. Returns how many entries are smaller now,
    /// and how many bytes that saved.
    ///
    /// # Errors
    ///
    /// Where a folder cannot be listed or an entry cannot be written. Those before it are done.
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

    /// How many bytes the entry takes less.
    fn store_smaller(
        &self,
        open: &Open,
        key: &EntryKey,
        stored: &EntryFile,
        opened: &Opened,
        compression: Compression,
    ) -> Result<u64, DiskError> {
        // What does not decode is for loading or verifying to find.
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
            // The old payload, which remembers that this was tried.
            stored.payload()
        };
        let mut file = header.to_bytes().ok_or(DiskError::AttributesTooLong { key: *key })?;
        file.extend_from_slice(payload);
        let publisher = self.publisher(open);
        let replaced = publisher.replace_stored(key, stored, &file, opened);
        // Without trimming: who asked for this trims exactly afterwards, or has no need to.
        let _ = self.note_changes(open, directory_of(key), &publisher.changes.take());
        let saved = (stored.bytes().len() as u64).saturating_sub(file.len() as u64);
        Ok(if replaced? { saved } else { 0 })
    }
}

/// Whether the entry's payload is what `compression` would give, or was found not to gain by it.
fn was_tried(header: &Header, compression: Compression) -> bool {
    let as_high = header.level != 0 && header.level >= compression.level();
    match header.encoding {
        Encoding::ZstdDictionary(_) => {
            as_high && header.encoding == compression.encoding(header.key.kind())
        }
        Encoding::Plain | Encoding::Zstd => as_high,
        // These have no levels.
        Encoding::Lz4 => true,
    }
}

impl Publisher<'_> {
    /// Puts `bytes` in the place of the file that was opened, if it is still there; whether it
    /// was. The time of its last use stays.
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
