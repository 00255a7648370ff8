//! Chooses and removes the entries that are worth least.
//!
//! What an entry is worth is what having it back would cost, times how likely it is to be wanted:
//! its cost, halved for each week in which nobody used it. `ptx-eviction` chooses who stays, with
//! variants of one program counting for less beside each other.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ptx_eviction::{Budgets, Curve, Retainer};
use ptx_key::Digest;
use ptx_store::Size;

use crate::Damage;
use crate::format::layout::Layout;
use crate::format::{Header, LONGEST_HEADER, Unreadable};
use crate::storage::{
    FileKind, Metadata, Storage, StorageFile, names_in, read_full, restart_clock,
};
use crate::upkeep::totals::{Change, known, size_of_file, sum_of};

/// The idle time in which an entry loses half of its worth.
const HALF_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What is read of a file to learn its cost, in bytes; few headers are longer.
const FIRST_READ: usize = 4096;

/// An entry that may go.
pub(crate) struct Candidate {
    path: PathBuf,
    directory: u8,
    /// As it was when it was judged.
    metadata: Metadata,
    size: Size,
    /// `None` where only a newer release can tell.
    worth: Option<f64>,
    family: u64,
    idle: Duration,
}

impl Candidate {
    /// Whether it went. One that was used or replaced since it was judged stays.
    fn remove(&self, storage: &dyn Storage) -> bool {
        let named = storage.metadata(&self.path);
        named.is_ok_and(|named| named.is_still(&self.metadata))
            && storage.remove_file(&self.path).is_ok()
    }

    /// What it takes.
    pub(crate) fn size(&self) -> Size {
        self.size
    }
}

/// What is in one directory.
pub(crate) struct Counted {
    pub(crate) candidates: Vec<Candidate>,
    /// What the directory's total is to be.
    pub(crate) change: Change,
}

/// The entries in one directory, counted.
///
/// # Errors
///
/// Where it cannot be listed.
pub(crate) fn candidates(
    storage: &dyn Storage,
    layout: &Layout,
    directory: u8,
    now: SystemTime,
) -> io::Result<Counted> {
    let path = layout.entries(directory);
    let before = known(storage, layout, directory);
    let names = names_in(storage, &path)?;
    let mut candidates: Vec<Candidate> = names
        .iter()
        .filter_map(|name| candidate(storage, path.join(name), directory, now))
        .collect();
    // The order of names in a directory is the file system's; equals are chosen by name.
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    let found = sum_of(candidates.iter().map(|one| one.size));
    Ok(Counted { candidates, change: Change::Counted { before, found } })
}

fn candidate(
    storage: &dyn Storage,
    path: PathBuf,
    directory: u8,
    now: SystemTime,
) -> Option<Candidate> {
    let file = storage.open_file(&path);
    let metadata = match &file {
        Ok(file) => file.metadata(),
        Err(_) => storage.metadata(&path),
    };
    let metadata = metadata.ok()?;
    if metadata.kind != FileKind::File {
        return None;
    }
    let (metadata, header) = match file {
        Ok(file) => {
            // One from the future would never grow old.
            let metadata = restart_clock(&*file, metadata, now);
            (metadata, header(&*file, metadata.length))
        }
        Err(_) => (metadata, Err(Damage::Medium.into())),
    };
    let idle = now.duration_since(metadata.modified).unwrap_or_default();
    let halvings = idle.as_secs_f64() / HALF_LIFE.as_secs_f64();
    let aged = |nanos| Duration::from_nanos(nanos).as_secs_f64() * (-halvings).exp2();
    let (worth, family) = match &header {
        Ok(header) => {
            let key = || Digest::from_bytes(*header.key.as_bytes());
            (Some(aged(header.cost_nanos)), header.family().unwrap_or_else(key).prefix())
        }
        Err(Unreadable::Newer) => (None, metadata.identity.inode),
        // What cannot be read is worth nothing.
        Err(Unreadable::Damaged(_)) => (Some(0.0), 0),
    };
    let size = size_of_file(metadata.length);
    Some(Candidate { path, directory, metadata, size, worth, family, idle })
}

fn header(file: &dyn StorageFile, length: u64) -> Result<Header, Unreadable> {
    let read = |most: usize| {
        let most = usize::try_from(length).map_or(most, |length| length.min(most));
        let mut bytes = vec![0; most];
        let count = read_full(file, &mut bytes, 0).map_err(|_| Damage::Medium)?;
        bytes.truncate(count);
        Header::read(&bytes).map(|(header, _)| header)
    };
    match read(FIRST_READ) {
        Err(Unreadable::Damaged(Damage::CutShort)) => read(LONGEST_HEADER),
        outcome => outcome,
    }
}

/// Removes those that are too old, and of the others those worth least, until what stays of them
/// fits into `budget`; at most `most` of the others. What happened in which directory.
pub(crate) fn evict(
    storage: &dyn Storage,
    candidates: Vec<Candidate>,
    age: Duration,
    budget: Size,
    most: usize,
) -> Vec<(u8, Size)> {
    let (old, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| candidate.idle > age);
    let mut leaving = least_worth(rest, budget);
    leaving.truncate(most);
    let gone = old.into_iter().chain(leaving);
    gone.filter(|candidate| candidate.remove(storage))
        .map(|candidate| (candidate.directory, candidate.size))
        .collect()
}

/// Those that do not fit, worth least for their size first.
fn least_worth(candidates: Vec<Candidate>, budget: Size) -> Vec<Candidate> {
    let total = sum_of(candidates.iter().map(|one| one.size));
    if total.fits(budget) {
        return Vec::new();
    }
    let known: Vec<f64> = candidates.iter().filter_map(|candidate| candidate.worth).collect();
    #[expect(clippy::cast_precision_loss, reason = "a mean needs few digits")]
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    // The entries of a newer release are worth as much to it as ours are to us.
    let worth = |one: &Candidate| one.worth.unwrap_or(mean);
    let entries: Vec<ptx_eviction::Entry> = candidates
        .iter()
        .map(|candidate| ptx_eviction::Entry {
            worth: worth(candidate),
            bytes: candidate.size.bytes,
            family: candidate.family,
            pinned: false,
        })
        .collect();
    let most = usize::try_from(budget.entries).unwrap_or(usize::MAX);
    let budgets = Budgets { entries: most, bytes: budget.bytes };
    let mut retainer = Retainer::new(Curve::SquareRoot);
    // The only failure is a worth that is no number, and none here is.
    let Ok(kept) = retainer.retain(&entries, budgets) else { return Vec::new() };
    let mut stays = vec![false; candidates.len()];
    for position in kept.entries {
        if let Some(stays) = stays.get_mut(*position) {
            *stays = true;
        }
    }
    let leaving = candidates.into_iter().zip(stays).filter(|(_, stays)| !stays);
    let mut leaving: Vec<Candidate> = leaving.map(|(candidate, _)| candidate).collect();
    #[expect(clippy::cast_precision_loss, reason = "an order by density needs few digits")]
    let density = |one: &Candidate| worth(one) / one.size.bytes.max(1) as f64;
    leaving.sort_by(|a, b| density(a).total_cmp(&density(b)));
    leaving
}
