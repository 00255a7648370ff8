//! What happens when the file system fails, or has changed what was written.

use std::path::Path;
use std::time::Instant;

use super::{DiskStore, Open};
use crate::quarantine::set_aside;
use crate::storage::FileIdentity;
use crate::{Damage, DiskError, Mode, Warning};

impl DiskStore {
    pub(super) fn quarantine(
        &self,
        open: &Open,
        path: &Path,
        damage: Damage,
        identity: FileIdentity,
    ) {
        tracing::debug!(path = %path.display(), %damage, "a damaged entry");
        if self.config.mode != Mode::ReadWrite || !open.writing.is_open(Instant::now) {
            return;
        }
        match set_aside(&*open.storage, &open.layout, path, identity) {
            Ok(true) => self.counters.quarantined.add(),
            Ok(false) => {}
            Err(error) => {
                self.write_failed(&DiskError::storage("set aside", path, error), true);
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
