//! How does a store keep to its budget? A write trims a little, and a tool exactly.

use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

use ptx_store::Size;

use crate::error::OnPath as _;
use crate::storage::StorageFile;
use crate::storage::directories::open_own_file;
use crate::store::{DiskStore, Open};
use crate::upkeep::totals::{BLOCK, Change, Totals, record, sum_of, without};
use crate::upkeep::victims::{Candidate, candidates, evict};
use crate::{Config, DiskError};

/// Entries among which a write chooses victims when the store exceeds its budget.
const SAMPLE: usize = 256;
/// At most one entry in so many is a victim, since the store has better and worse ones than this
/// sample. It also limits how many entries a write looks at, each of which may come from the
/// medium.
const SHARE: usize = 4;
/// The most samples of one write.
const SAMPLES: u32 = 4;
/// A trim frees this share of the budget, so that the next writes need not trim again;
const SLACK: u64 = 64;
/// in a small store so many entries, but at most an eighth of the budget.
const SMALL_STORE_SLACK: u64 = 32;
/// Attempts to get the trimmer's lock, and the time between two.
const LOOKS: (u32, Duration) = (50, Duration::from_millis(20));

impl DiskStore {
    /// Removes entries that are too old, and those worth least until the rest fits the budget.
    /// Counts every entry, so the budget holds exactly afterwards, unless other processes write
    /// meanwhile. Waits for a write that trims. Returns what it removed.
    ///
    /// # Errors
    ///
    /// [`DiskError::Trimming`] if another process trims the store, and if a directory cannot be
    /// listed.
    pub fn trim(&self) -> Result<Size, DiskError> {
        let mut trimmed = Size::default();
        let Some(open) = self.writable() else { return Ok(trimmed) };
        let _only = patient_trimmer(open)?;
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let (mut all, mut changes) = (Vec::new(), Vec::new());
        for directory in 0..=u8::MAX {
            let found = candidates(storage, layout, directory, now);
            let found = found.on("list", &layout.entries(directory))?;
            all.extend(found.candidates);
            changes.push((directory, found.change));
        }
        let Config { budget, longest_unused, .. } = self.config;
        for (directory, size) in evict(storage, all, longest_unused, budget, usize::MAX) {
            trimmed = sum_of([trimmed, size]);
            changes.push((directory, Change::Removed(size)));
        }
        self.counters.trimmed.add_many(trimmed.entries);
        if !matches!(record(storage, layout, &changes), Ok(Some(_))) {
            open.pending().append(&mut changes);
        }
        Ok(trimmed)
    }

    /// Records changes in one directory, and trims a little if the store exceeds its budget.
    /// Returns true if the file system let it.
    pub(crate) fn account(&self, open: &Open, directory: u8, news: &[Change]) -> bool {
        match self.note_changes(open, directory, news) {
            Ok(Some(totals)) if !totals.sum().fits(self.config.budget) => {
                self.trim_a_little(open, &totals);
                true
            }
            outcome => outcome.is_ok(),
        }
    }

    /// Records changes in one directory, and pending ones. Returns the totals if there was a change
    /// and nobody held the lock. What cannot be recorded stays pending.
    pub(crate) fn note_changes(
        &self,
        open: &Open,
        directory: u8,
        news: &[Change],
    ) -> Result<Option<Totals>, DiskError> {
        if news.is_empty() {
            return Ok(None);
        }
        let mut changes = std::mem::take(&mut *open.pending());
        changes.extend(news.iter().map(|change| (directory, *change)));
        let recorded = record(&*open.storage, &open.layout, &changes)
            .on("record the totals in", &open.layout.totals());
        if !matches!(recorded, Ok(Some(_))) {
            open.pending().append(&mut changes);
        }
        recorded.inspect_err(|error| self.write_failed(error, true))
    }

    /// Removes some of the entries worth least in a sample of directories.
    ///
    /// Counts the directories first, beginning with the fullest, so that a wrong total costs no
    /// entry.
    fn trim_a_little(&self, open: &Open, totals: &Totals) {
        let Ok(Some(_only)) = only_trimmer(open) else { return };
        let (storage, layout) = (&*open.storage, &open.layout);
        let Config { budget: bound, longest_unused, .. } = self.config;
        let mut directories = totals.filled();
        if let Some((_fullest, others)) = directories.split_last_mut() {
            fastrand::shuffle(others);
        }
        let slack = Size {
            entries: slack(bound.entries, SMALL_STORE_SLACK),
            bytes: slack(bound.bytes, SMALL_STORE_SLACK * BLOCK),
        };
        for _ in 0..SAMPLES {
            let (mut sample, mut counts) = (Vec::new(), Vec::new());
            while sample.len() < SAMPLE
                && let Some(directory) = directories.pop()
            {
                let now = SystemTime::now();
                let Ok(found) = candidates(storage, layout, directory, now) else { continue };
                counts.push((directory, found.change));
                sample.extend(found.candidates);
            }
            let Ok(Some(totals)) = record(storage, layout, &counts) else { return };
            if totals.sum().fits(bound) || sample.is_empty() {
                return;
            }
            let within = sum_of(sample.iter().map(Candidate::size));
            let budget = without(within, without(totals.sum(), without(bound, slack)));
            let most = sample.len().div_ceil(SHARE);
            let gone = evict(storage, sample, longest_unused, budget, most);
            self.counters.trimmed.add_many(gone.len() as u64);
            let removed = |(directory, size): &(u8, Size)| (*directory, Change::Removed(*size));
            let mut removals: Vec<_> = gone.iter().map(removed).collect();
            match record(storage, layout, &removals) {
                Ok(Some(totals)) if !totals.sum().fits(bound) => {}
                Ok(Some(_)) => return,
                _ => open.pending().append(&mut removals),
            }
        }
    }
}

fn slack(bound: u64, small: u64) -> u64 {
    (bound / SLACK).max(small.min(bound / 8))
}

/// Takes the trimmer's lock. Returns `None` if another process holds it.
fn only_trimmer(open: &Open) -> io::Result<Option<Box<dyn StorageFile>>> {
    let file = open_own_file(&*open.storage, &open.layout, &open.layout.trimmer())?;
    match file.try_lock() {
        Ok(ours) => Ok(ours.then_some(file)),
        // Without locks two trimmers may remove too much, which costs a lowering.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(file)),
        Err(error) => Err(error),
    }
}

/// Takes the trimmer's lock, and waits for a write that trims a little.
fn patient_trimmer(open: &Open) -> Result<Box<dyn StorageFile>, DiskError> {
    let (looks, pause) = LOOKS;
    for _ in 0..looks {
        if let Some(only) = only_trimmer(open).on("lock", &open.layout.trimmer())? {
            return Ok(only);
        }
        thread::sleep(pause);
    }
    Err(DiskError::Trimming { root: open.layout.root().to_owned() })
}
