//! Which entries stay when the budget is full?

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptx_eviction::{Curve, Entry, Retainer, Size};

use super::clock::TICKS_TO_A_TURNOVER;

/// A resident entry, as retention sees it.
///
/// Time is counted in ticks: a tick is a number of insertions, a fraction of a turnover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its bytes, as [`Weigh`](crate::Weigh) counts them.
    pub bytes: u64,
    /// Ticks since the last use.
    pub idle: u32,
    /// Ticks between the last two ticks in which it was used, and between the two before, also if it
    /// was evicted meanwhile. Zero where there were none.
    pub gaps: [u32; 2],
    /// What the next miss would cost.
    pub cost: Duration,
    /// Variants of one program share it.
    pub family: u32,
}

/// Chooses victims.
///
/// An insertion that meets a full budget calls it, under a lock for which other insertions that need
/// room wait, and no hit. It must not call the cache.
pub trait Retention: Send + Sync + 'static {
    /// Returns the positions of the victims in `candidates`, the first victim first, such that the
    /// other candidates fit `budget`. The cache skips positions that are out of range or named twice.
    ///
    /// The cache evicts from the front, as it needs room, and skips victims that were used since.
    /// If they are too few, it evicts the last of `candidates`.
    fn victims(&self, candidates: &[Candidate], budget: Size) -> Vec<usize>;

    /// Returns what `candidate` alone is worth, by the measure of the last choice. A newcomer that is
    /// judged is kept if it is worth more than all its victims, by a margin that the cache learns
    /// from what happened to newcomers that it refused.
    fn worth(&self, candidate: &Candidate) -> f64;
}

/// The default: worth is the rate of expected reuse times the cost of the next miss, against bytes,
/// with diminishing returns among variants of one program.
///
/// Launches are periodic and come in bursts. The expected wait for the next use depends on an
/// entry's last two gaps. Until the idle time exceeds the shorter gap, the wait is the geometric
/// mean of both. Then it is the longer gap. Once the idle time exceeds the longer gap, the wait is
/// the idle time. Half of the entries that were used once are expected again, after the mean gap of
/// the others. In a loop longer than the cache, residents and newcomers have the same gaps. Then
/// cost and bytes decide. If these are equal, the resident stays.
///
/// The worth of a family grows as the square root of what its variants add, as long as each was
/// asked for once: a program with ever more variants does not take the place of others. A variant
/// that was used again is judged by its own uses. The choice is the submodular
/// maximisation of `ptx-eviction`'s [`Retainer`]: exact for few entries, density greedy with the
/// best singleton for many.
pub struct FamilyRetention {
    working: Mutex<Working>,
}

struct Working {
    retainer: Retainer,
    entries: Vec<Entry>,
    /// The mean gap at the last choice, in ticks.
    mean_gap: f64,
}

impl Default for FamilyRetention {
    fn default() -> Self {
        let retainer = Retainer::new(Curve::SquareRoot);
        Self { working: Mutex::new(Working { retainer, entries: Vec::new(), mean_gap: 1.0 }) }
    }
}

impl Retention for FamilyRetention {
    fn victims(&self, candidates: &[Candidate], budget: Size) -> Vec<usize> {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        working.mean_gap = mean_gap(candidates);
        let Working { retainer, entries, mean_gap } = &mut *working;
        entries.clear();
        entries.extend((0..).zip(candidates).map(|(position, candidate)| Entry {
            worth: worth(candidate, *mean_gap),
            bytes: candidate.bytes,
            family: family(candidate, position),
            pinned: false,
        }));
        let budget = Size { entries: budget.entries, bytes: budget.bytes };
        let mut stays = vec![false; candidates.len()];
        // Worths are finite and not negative, so the retainer refuses nothing. If it did, all would
        // be victims, the least dense first.
        if let Ok(kept) = retainer.retain(entries, budget) {
            kept.entries.iter().for_each(|&position| stays[position] = true);
        }
        let mut victims: Vec<usize> =
            (0..candidates.len()).filter(|&position| !stays[position]).collect();
        let density = |position: usize| {
            #[expect(clippy::cast_precision_loss, reason = "ranks")]
            let bytes = entries[position].bytes.max(1) as f64;
            entries[position].worth / bytes
        };
        victims.sort_unstable_by(|&left, &right| {
            density(left).total_cmp(&density(right)).then(right.cmp(&left))
        });
        victims
    }

    fn worth(&self, candidate: &Candidate) -> f64 {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        worth(candidate, working.mean_gap)
    }
}

/// The share of entries used once that are expected to be used again.
const SHARE_USED_AGAIN: f64 = 0.5;

/// The mean of the last gaps that are known; where none is, one turnover.
fn mean_gap(candidates: &[Candidate]) -> f64 {
    let known = candidates.iter().map(|candidate| candidate.gaps[0]).filter(|&gap| gap > 0);
    let (count, sum) =
        known.fold((0.0, 0.0), |(count, sum), gap| (count + 1.0, sum + f64::from(gap)));
    // A tick is one insertion where fewer are resident than a turnover has ticks.
    let turnover = u32::try_from(candidates.len())
        .map_or(TICKS_TO_A_TURNOVER, |residents| residents.min(TICKS_TO_A_TURNOVER));
    if count > 0.0 { sum / count } else { turnover.into() }
}

/// Ticks until the next use, as far as the last two gaps tell.
fn expected_wait(candidate: &Candidate, unknown_gap: f64) -> f64 {
    let idle = f64::from(candidate.idle);
    let [last, before] = match candidate.gaps {
        [0, _] => [unknown_gap; 2],
        [last, 0] => [f64::from(last); 2],
        gaps => gaps.map(f64::from),
    };
    let (short, long) = (last.min(before), last.max(before));
    if idle <= short { (short * long).sqrt() } else { long.max(idle) }
}

/// Returns true if it was used after the request that computed it.
fn was_used_again(candidate: &Candidate) -> bool {
    candidate.gaps[0] > 0
}

/// The family that discounts the candidate. A variant that is used again and again does not stand
/// in for its siblings: it is alone in its family.
fn family(candidate: &Candidate, position: u64) -> u64 {
    if was_used_again(candidate) { 1 << 32 | position } else { candidate.family.into() }
}

/// What each tick without it costs, in seconds.
fn worth(candidate: &Candidate, unknown_gap: f64) -> f64 {
    // A lowering too fast to measure still has some worth, or it could never be told from others.
    let cost = candidate.cost.as_secs_f64().max(1e-6);
    let returns = if was_used_again(candidate) { 1.0 } else { SHARE_USED_AGAIN };
    returns * cost / (expected_wait(candidate, unknown_gap) + 1.0)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
