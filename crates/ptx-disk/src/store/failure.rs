//! What happens when the file system fails, or has changed what was written.

use std::time::Instant;

use super::{DiskStore, Open};
use crate::quarantine::set_aside;
use crate::storage::Metadata;
use crate::totals::{Change, Total};
use crate::{Damage, DiskError, EntryKey, Mode, Warning};

impl DiskStore {
    pub(super) fn quarantine(&self, open: &Open, key: &EntryKey, damage: Damage, found: &Metadata) {
        let path = open.layout.entry(key);
        tracing::debug!(path = %path.display(), %damage, "a damaged entry");
        if self.config.mode != Mode::ReadWrite || !open.writing.is_open(Instant::now) {
            return;
        }
        match set_aside(&*open.storage, &open.layout, &path, found) {
            Ok(true) => {
                self.counters.quarantined.add();
                self.account(open, key.folder(), &[Change::Removed(Total::of(found))]);
            }
            Ok(false) => {}
            Err(error) => {
                self.write_failed(&DiskError::storage("set aside", &path, error), true);
            }
        }
    }

    pub(super) fn read_failed(&self, open: &Open, error: DiskError) -> DiskError {
        self.counters.read_failures.add();
        if open.reading.failed(Instant::now()) {
            self.counters.degraded.add();
            self.config.warn(&Warning::ReadingOff { error: error.clone() });
        }
        error
    }

    pub(super) fn write_failed(&self, error: &DiskError, counted: bool) {
        if counted {
            self.counters.write_failures.add();
        }
        let Some(open) = &self.open else { return };
        if open.writing.failed(Instant::now()) {
            self.counters.degraded.add();
            self.config.warn(&Warning::WritingOff { error: error.clone() });
        }
    }
}
