//! What does a store do when the file system fails or damages a file?

use std::time::Instant;

use ptx_store::EntryKey;

use super::{DiskStore, Open};
use crate::format::layout::directory_of;
use crate::storage::Metadata;
use crate::upkeep::quarantine::quarantine;
use crate::upkeep::totals::{Change, size_of};
use crate::{Damage, DiskError, Mode, Warning};

impl DiskStore {
    pub(crate) fn quarantine(&self, open: &Open, key: &EntryKey, damage: Damage, found: &Metadata) {
        let path = open.layout.entry(key);
        self.config.warn(&Warning::Damaged { path: path.clone(), damage });
        if self.config.mode != Mode::ReadWrite || !open.writing.is_open(Instant::now) {
            return;
        }
        match quarantine(&*open.storage, &open.layout, &path, found) {
            Ok(true) => {
                self.counters.quarantined.add();
                self.account(open, directory_of(key), &[Change::Removed(size_of(found))]);
            }
            Ok(false) => {}
            Err(error) => {
                self.write_failed(&DiskError::storage("quarantine", &path, error), true);
            }
        }
    }

    pub(crate) fn read_failed(&self, open: &Open, error: DiskError) -> DiskError {
        self.counters.read_failures.add();
        if open.reading.failed(Instant::now()) {
            self.counters.degraded.add();
            self.config.warn(&Warning::ReadingOff { error: error.clone() });
        }
        error
    }

    pub(crate) fn write_failed(&self, error: &DiskError, counted: bool) {
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
