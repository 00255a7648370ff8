//! Which entries does a trim remove?
//!
//! An entry is worth what computing it again costs, times how likely it is to be wanted: its cost,
//! halved for each week without use. `ptx-eviction` chooses the entries to keep. Variants of one
//! program count for less beside each other.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ptx_eviction::{Curve, Retainer};
use ptx_key::Digest;
use ptx_store::Size;

use crate::Damage;
use crate::format::layout::Layout;
use crate::format::{Header, LONGEST_HEADER, Unreadable};
use crate::storage::{
    FileKind, Metadata, Storage, StorageFile, names_in, read_full, restart_clock,
};
use crate::upkeep::totals::{Change, known, size_of_file, sum_of};

/// The time without use in which an entry loses half of its worth.
const HALF_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Bytes to read of a file for its cost. Few headers are longer.
const FIRST_READ: usize = 4096;

/// An entry that may be a victim.
pub(crate) struct Candidate {
    path: PathBuf,
    directory: u8,
    /// The file at the time of the choice.
    metadata: Metadata,
    size: Size,
    /// `None` if only a newer release knows.
    worth: Option<f64>,
    family: u64,
    idle: Duration,
}

impl Candidate {
    /// Removes the entry. Returns false if it was used or replaced since the choice, and stays.
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

/// The entries of one directory, counted.
pub(crate) struct Counted {
    pub(crate) candidates: Vec<Candidate>,
    /// The directory's new total.
    pub(crate) change: Change,
}

/// Lists and counts the entries of one directory.
///
/// # Errors
///
/// If it cannot be listed.
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
    // A file system lists names in any order. Among equals the name decides.
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
            // A file from the future would never grow old.
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
        // An entry that cannot be read is worth nothing.
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

/// Removes entries older than `age`, and at most `most` of the others, worth least first, until the
/// rest fits `budget`. Returns what it removed, by directory.
pub(crate) fn evict(
    storage: &dyn Storage,
    candidates: Vec<Candidate>,
    age: Duration,
    budget: Size,
    most: usize,
) -> Vec<(u8, Size)> {
    let (old, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| candidate.idle > age);
    let mut victims = choose_victims(rest, budget);
    victims.truncate(most);
    let removed = old.into_iter().chain(victims);
    removed
        .filter(|candidate| candidate.remove(storage))
        .map(|candidate| (candidate.directory, candidate.size))
        .collect()
}

/// The victims, worth least for their size first.
fn choose_victims(candidates: Vec<Candidate>, budget: Size) -> Vec<Candidate> {
    let total = sum_of(candidates.iter().map(|one| one.size));
    if total.fits(budget) {
        return Vec::new();
    }
    let known: Vec<f64> = candidates.iter().filter_map(|candidate| candidate.worth).collect();
    #[expect(clippy::cast_precision_loss, reason = "a mean needs few digits")]
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    // A newer release's entries are worth the mean of the others.
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
    let mut retainer = Retainer::new(Curve::SquareRoot);
    // It only fails for a worth that is no number. None is.
    let Ok(kept) = retainer.retain(&entries, budget) else { return Vec::new() };
    let mut is_kept = vec![false; candidates.len()];
    for position in kept.entries {
        if let Some(is_kept) = is_kept.get_mut(*position) {
            *is_kept = true;
        }
    }
    let victims = candidates.into_iter().zip(is_kept).filter(|(_, is_kept)| !is_kept);
    let mut victims: Vec<Candidate> = victims.map(|(candidate, _)| candidate).collect();
    #[expect(clippy::cast_precision_loss, reason = "an order by density needs few digits")]
    let density = |one: &Candidate| worth(one) / one.size.bytes.max(1) as f64;
    victims.sort_by(|a, b| density(a).total_cmp(&density(b)));
    victims
}
