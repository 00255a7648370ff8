//! Keeping to the bounds: a little with each write, and exactly on request.

use std::time::SystemTime;

use super::{DiskStore, Open};
use crate::DiskError;
use crate::error::OnPath as _;
use crate::storage::StorageFile;
use crate::totals::{BLOCK, Change, FOLDERS, Total, Totals, record};
use crate::trim::{Trimmed, candidates, evict};

/// Entries to choose among when a write finds the store too full.
const SAMPLE: usize = 256;
/// The share of them that goes at most: the store has better and worse ones than this sample. It
/// is also how many entries a write at the cap looks at, each of which may have to come from the
/// medium.
const SHARE: usize = 4;
/// Samples that one write takes at most.
const SAMPLES: u32 = 4;
/// A trim makes room for this share of the bound, so that the next writes need not trim again;
const SLACK: u64 = 64;
/// in a small store for so many entries, but at most for an eighth of the bound.
const SMALL_STORE_SLACK: u64 = 32;

impl DiskStore {
    /// Removes entries that are too old, and those worth least until the bounds hold. It looks at
    /// every entry and counts them anew, so the bounds hold exactly afterwards, as far as other
    /// processes do not write meanwhile. Where another process is trimming it does nothing.
    ///
    /// # Errors
    ///
    /// Where a folder cannot be listed.
    pub fn trim(&self) -> Result<Trimmed, DiskError> {
        let mut trimmed = Trimmed::default();
        let Some(open) = self.writable() else { return Ok(trimmed) };
        let Some(_only) = only_trimmer(open) else { return Ok(trimmed) };
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let mut all = Vec::new();
        for folder in 0..=u8::MAX {
            let found = candidates(storage, layout, folder, now);
            all.extend(found.on("list", &layout.entries(folder))?);
        }
        let mut totals = [Total::default(); FOLDERS];
        for candidate in &all {
            if let Some(total) = totals.get_mut(usize::from(candidate.folder())) {
                *total = total.plus(candidate.size());
            }
        }
        let bounds = &self.config.bounds;
        let budget = Total { entries: bounds.entries, bytes: bounds.bytes };
        for (folder, size) in evict(storage, all, bounds.age, budget, usize::MAX) {
            trimmed.add(size);
            if let Some(total) = totals.get_mut(usize::from(folder)) {
                *total = total.minus(size);
            }
        }
        self.counters.trimmed.add_many(trimmed.entries);
        let counted = |(folder, total): (u8, &Total)| (folder, Change::Counted(*total));
        let changes: Vec<_> = (0..=u8::MAX).zip(&totals).map(counted).collect();
        // Totals that cannot be written now are counted another time.
        let _ = record(storage, layout, &changes);
        Ok(trimmed)
    }

    /// Records a change in one folder, and trims a little where the bounds do not hold.
    pub(super) fn account(&self, open: &Open, folder: u8, change: Change) {
        let mut changes = std::mem::take(&mut *open.pending());
        changes.push((folder, change));
        match record(&*open.storage, &open.layout, &changes) {
            Ok(Some(totals)) => {
                if !self.config.bounds.hold(totals.sum()) {
                    self.trim_a_little(open, &totals);
                }
            }
            Ok(None) => open.pending().append(&mut changes),
            Err(error) => {
                let path = open.layout.totals();
                self.write_failed(&DiskError::storage("record the totals in", &path, error), true);
            }
        }
    }

    /// Removes some of the entries worth least among a sample of folders.
    ///
    /// The folders are counted before anything is removed, the one that is said to be the fullest
    /// first, so that a total that is wrong costs no entry.
    fn trim_a_little(&self, open: &Open, totals: &Totals) {
        let Some(_only) = only_trimmer(open) else { return };
        let (storage, layout, bounds) = (&*open.storage, &open.layout, &self.config.bounds);
        let mut folders = totals.filled();
        if let Some((_fullest, others)) = folders.split_last_mut() {
            fastrand::shuffle(others);
        }
        let bound = Total { entries: bounds.entries, bytes: bounds.bytes };
        let slack = Total {
            entries: slack(bounds.entries, SMALL_STORE_SLACK),
            bytes: slack(bounds.bytes, SMALL_STORE_SLACK * BLOCK),
        };
        for _ in 0..SAMPLES {
            let (mut sample, mut counts) = (Vec::new(), Vec::new());
            while sample.len() < SAMPLE
                && let Some(folder) = folders.pop()
            {
                let now = SystemTime::now();
                let Ok(found) = candidates(storage, layout, folder, now) else { continue };
                let count = found.iter().fold(Total::default(), |sum, one| sum.plus(one.size()));
                counts.push((folder, Change::Counted(count)));
                sample.extend(found);
            }
            let Ok(Some(totals)) = record(storage, layout, &counts) else { return };
            if bounds.hold(totals.sum()) || sample.is_empty() {
                return;
            }
            let within = sample.iter().fold(Total::default(), |sum, one| sum.plus(one.size()));
            let budget = within.minus(totals.sum().minus(bound.minus(slack)));
            let most = sample.len().div_ceil(SHARE);
            let gone = evict(storage, sample, bounds.age, budget, most);
            self.counters.trimmed.add_many(gone.len() as u64);
            let removed = |(folder, size): &(u8, Total)| (*folder, Change::Removed(*size));
            let mut removals: Vec<_> = gone.iter().map(removed).collect();
            match record(storage, layout, &removals) {
                Ok(Some(totals)) if !bounds.hold(totals.sum()) => {}
                Ok(Some(_)) => return,
                _ => open.pending().append(&mut removals),
            }
        }
    }
}

fn slack(bound: u64, small: u64) -> u64 {
    (bound / SLACK).max(small.min(bound / 8))
}

/// The lock that makes this process the only one that trims; `None` where another has it, or
/// where there are no locks.
fn only_trimmer(open: &Open) -> Option<Box<dyn StorageFile>> {
    let file = open.storage.open_or_create_file(&open.layout.trimmer()).ok()?;
    match file.try_lock() {
        Ok(true) => Some(file),
        // Without locks two trimmers may remove more than they must, which costs a lowering.
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Some(file),
        _ => None,
    }
}
