//! Which entries does a store have, and are they whole?

use ptx_store::EntryKey;

use super::entry_file::{Found, read};
use crate::bundle::index::order;
use crate::error::OnPath as _;
use crate::format::Unreadable;
use crate::format::layout::Layout;
use crate::storage::names_in;
use crate::store::{DiskStore, Open};
use crate::{DiskError, Verified};

impl DiskStore {
    /// Lists the keys of all entries in the store's own directory, by their bytes. This lists every
    /// directory, so it is for tools.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed.
    pub fn keys(&self) -> Result<Vec<EntryKey>, DiskError> {
        let Some(open) = &self.open else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for directory in 0..=u8::MAX {
            let path = open.layout.entries(directory);
            let names = names_in(&*open.storage, &path).on("list", &path)?;
            keys.extend(names.iter().filter_map(|name| Layout::key(name.to_str()?)));
        }
        keys.sort_by(|a, b| order(a).cmp(&order(b)));
        Ok(keys)
    }

    /// Reads every entry, checks all that can be checked, and quarantines damaged ones.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed.
    pub fn verify(&self) -> Result<Verified, DiskError> {
        let mut verified = Verified::default();
        let Some(open) = &self.open else { return Ok(verified) };
        for key in self.keys()? {
            let (damage, metadata) = match self.read_stored(open, &key) {
                Ok(Found::Nothing) => continue,
                Ok(Found::NotReadable) => {
                    verified.left_alone += 1;
                    continue;
                }
                Ok(Found::Whole(stored, opened)) => match stored.verify() {
                    Ok(()) => {
                        verified.whole += 1;
                        continue;
                    }
                    Err(Unreadable::Newer) => {
                        verified.left_alone += 1;
                        continue;
                    }
                    Err(Unreadable::Damaged(damage)) => (damage, opened.metadata),
                },
                Ok(Found::Damaged(damage, metadata)) => (damage, metadata),
                Err(_) => {
                    verified.unreadable += 1;
                    continue;
                }
            };
            verified.damaged += 1;
            self.quarantine(open, &key, damage, &metadata);
        }
        Ok(verified)
    }

    pub(crate) fn read_stored(&self, open: &Open, key: &EntryKey) -> Result<Found, DiskError> {
        let path = open.layout.entry(key);
        read(&*open.storage, &path, key, self.config.most_entry_bytes)
    }
}
