//! Who stays when the budget is full.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptx_eviction::{Budgets, Curve, Entry, Retainer};

use crate::Budget;

/// A resident entry, as retention sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// What it weighs, in bytes.
    pub bytes: u64,
    /// Recent uses, halved with each half-life: between 0 and 64.
    pub uses: f64,
    /// Half-lives since the last use.
    pub idle: u32,
    /// Half-lives from a use to the next burst of uses, as far as such were seen, also before the
    /// entry was last retired. Zero where none was.
    pub interval: u32,
    /// What the next miss would cost, as [`Made::cost`](crate::Made::cost) said.
    pub cost: Duration,
    /// Variants of one program share it.
    pub family: u32,
}

/// Chooses which entries stay.
///
/// Called by an insertion that meets a full budget, under a lock that other insertions which need
/// room wait for, and no hit. It must not call the cache.
pub trait Retention: Send + Sync + 'static {
    /// The positions in `candidates` of those that stay. The cache retires the others, and of
    /// these as many of the last ones as the budget does not hold. Positions that are out of
    /// range or named twice are passed over.
    fn keep(&self, candidates: &[Candidate], budget: Budget) -> Vec<usize>;
}

/// The default: worth is expected reuse times the cost of the next miss, against bytes, with
/// diminishing returns among variants of one program.
///
/// Launches are periodic and come in bursts. Expected reuse is therefore the sum of two rates: one
/// in as many half-lives as the entry's bursts were apart, which falls off once the entry is
/// overdue; and one of a burst that is under way, which falls off at once and weighs as much as
/// bursts are usual among the candidates. In a loop that is longer than the cache there are no
/// bursts: incumbents and newcomers have the same interval, and cost and bytes decide.
///
/// The worth of a family grows as the square root of what its variants add, as long as these were
/// asked for once each: a program that is made in ever more variants does not take the place of
/// others. A variant that was used again is judged by its own uses. The choice is the submodular maximisation of `ptx-eviction`'s
/// [`Retainer`]: exact for few entries, density greedy with the best singleton for many.
pub struct FamilyRetention {
    retainer: Mutex<Retainer>,
}

impl Default for FamilyRetention {
    fn default() -> Self {
        Self::new(Curve::SquareRoot)
    }
}

impl FamilyRetention {
    /// Families whose worth grows along `curve`.
    pub fn new(curve: Curve) -> Self {
        Self { retainer: Mutex::new(Retainer::new(curve)) }
    }
}

impl Retention for FamilyRetention {
    fn keep(&self, candidates: &[Candidate], budget: Budget) -> Vec<usize> {
        let reuse = Reuse::among(candidates);
        let entries: Vec<Entry> = (0..)
            .zip(candidates)
            .map(|(position, candidate)| Entry {
                family: family(candidate, position),
                ..entry(candidate, &reuse)
            })
            .collect();
        let budgets = Budgets {
            entries: usize::try_from(budget.entries).unwrap_or(usize::MAX),
            bytes: budget.bytes,
        };
        let mut retainer = self.retainer.lock().unwrap_or_else(PoisonError::into_inner);
        match retainer.retain(&entries, budgets) {
            Ok(kept) => kept.entries.to_vec(),
            // Worths are finite and not negative, so the solver has nothing to refuse. If it did,
            // keeping what comes first would still keep the budget.
            Err(_) => (0..candidates.len()).collect(),
        }
    }
}

/// What the candidates together tell of reuse.
struct Reuse {
    /// The mean of the known intervals, taken where none is known.
    interval: f64,
    /// The share of those used once that come back, as far as the candidates tell: those that did,
    /// against those that are overdue by the mean interval.
    returning: f64,
    /// The share of candidates that were used more than once in the half-life of their last use.
    bursts: f64,
}

/// Half-lives that stand for an interval where none of the candidates has one.
const UNKNOWN_INTERVAL: f64 = 8.0;
/// The rate of uses within a burst, where every candidate's uses come in bursts.
const BURST_RATE: f64 = 0.6;

impl Reuse {
    fn among(candidates: &[Candidate]) -> Self {
        let (mut known, mut sum, mut bursts) = (0.0, 0.0, 0.0);
        for candidate in candidates {
            if candidate.interval > 0 {
                known += 1.0;
                sum += f64::from(candidate.interval);
            }
            if undecayed(candidate) > 1.5 {
                bursts += 1.0;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 2^24 entries")]
        let count = candidates.len().max(1) as f64;
        let interval = if known > 0.0 { sum / known } else { UNKNOWN_INTERVAL };
        let overdue = candidates
            .iter()
            .filter(|candidate| !was_used_again(candidate) && f64::from(candidate.idle) > interval);
        #[expect(clippy::cast_precision_loss, reason = "at most 2^24 entries")]
        let overdue = overdue.count() as f64;
        let returning = (known + 1.0) / (known + 1.0 + overdue);
        Self { interval, returning, bursts: bursts / count }
    }

    /// Uses expected in a half-life.
    fn rate(&self, candidate: &Candidate) -> f64 {
        let idle = f64::from(candidate.idle);
        let interval = match candidate.interval {
            0 => (self.interval / undecayed(candidate).max(1.0)).max(0.5),
            seen => f64::from(seen),
        };
        let overdue = (idle - interval).max(0.0) / interval;
        let returning = if was_used_again(candidate) { 1.0 } else { self.returning };
        returning * (-overdue).exp() / interval + BURST_RATE * self.bursts * (-idle).exp()
    }
}

/// Whether there was a use after the one that it was made for.
fn was_used_again(candidate: &Candidate) -> bool {
    candidate.interval > 0 || undecayed(candidate) > 1.5
}

/// Uses as they were counted at the last one.
fn undecayed(candidate: &Candidate) -> f64 {
    candidate.uses * f64::from(candidate.idle.min(1_000)).exp2()
}

/// What the candidate is discounted with. A variant that is itself used again and again does not
/// stand in for its siblings: it is a family of its own.
fn family(candidate: &Candidate, position: u64) -> u64 {
    if was_used_again(candidate) { 1 << 32 | position } else { candidate.family.into() }
}

fn entry(candidate: &Candidate, reuse: &Reuse) -> Entry {
    // A lowering too fast to measure still has some worth, and so has what was long not used, or
    // they could never be told from others.
    let cost = candidate.cost.as_secs_f64().max(1e-6);
    Entry {
        worth: reuse.rate(candidate).max(1e-12) * cost,
        bytes: candidate.bytes,
        family: candidate.family.into(),
        pinned: false,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
