//! Storing entries smaller than their writers had time to.

use super::{DiskStore, Open};
use crate::error::OnPath as _;
use crate::publish::Publisher;
use crate::read::{Found, Opened, Stored, read};
use crate::totals::{Change, Total};
use crate::{Compression, DiskError, EntryKey};

/// What storing entries anew saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recompressed {
    /// Entries that are smaller now.
    pub entries: u64,
    /// Bytes that they take less.
    pub bytes: u64,
}

impl DiskStore {
    /// Stores every entry anew with `compression` where that saves a twentieth or more. Writers
    /// compress fast because a caller waits for them; a tool has the time for a higher level. The
    /// content, its digest and all that is known of an entry stay; other processes may read and
    /// write meanwhile.
    ///
    /// # Errors
    ///
    /// Where a folder cannot be listed or an entry cannot be written. Those before it are done.
    pub fn recompress(&self, compression: Compression) -> Result<Recompressed, DiskError> {
        let mut saved = Recompressed::default();
        let Some(open) = self.writable() else { return Ok(saved) };
        for key in self.keys()? {
            let path = open.layout.entry(&key);
            let found = read(&*open.storage, &path, &key, self.config.most_entry_bytes);
            let Ok(Found::Whole(stored, opened)) = found else { continue };
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
        stored: &Stored,
        opened: &Opened,
        compression: Compression,
    ) -> Result<u64, DiskError> {
        // What does not decode is for loading or verifying to find.
        let Ok(Some(entry)) = stored.entry() else { return Ok(0) };
        let content = entry.payload.as_bytes();
        let (encoding, payload) = compression.encode(key.kind(), content);
        if payload.len() > stored.payload().len() / 20 * 19 {
            return Ok(0);
        }
        let mut header = stored.header.clone();
        header.encoding = encoding;
        header.stored_digest = ptx_key::Digest::of_bytes(&payload);
        header.stored_bytes = payload.len() as u64;
        let mut file = header.to_bytes().ok_or(DiskError::AttributesTooLong { key: *key })?;
        file.extend_from_slice(&payload);
        let publisher = Publisher {
            storage: &*open.storage,
            layout: &open.layout,
            durability: self.config.durability,
            most_bytes: self.config.most_entry_bytes,
            counters: &self.counters,
        };
        if !publisher.replace(key, &file, opened)? {
            return Ok(0);
        }
        let (before, after) = (stored.bytes().len() as u64, file.len() as u64);
        self.account(open, key.folder(), Change::Removed(Total::of_file(before)));
        self.account(open, key.folder(), Change::Added(Total::of_file(after)));
        Ok(before.saturating_sub(after))
    }
}

impl Publisher<'_> {
    /// Puts `bytes` in the place of the file that was opened, if it is still there; whether it
    /// was. The time of its last use stays.
    fn replace(&self, key: &EntryKey, bytes: &[u8], opened: &Opened) -> Result<bool, DiskError> {
        let target = self.layout.entry(key);
        let temporary = self.write_temporary(bytes, Some(opened.modified))?;
        let named = self.storage.metadata(&target);
        if !named.is_ok_and(|named| named.identity == opened.identity) {
            return Ok(false);
        }
        self.storage.rename(&temporary.path, &target).on("write", &target)?;
        temporary.published();
        self.sync_name(&target)?;
        Ok(true)
    }
}
