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
    /// What the next miss would cost.
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
/// The worth of a family grows as the square root of what its variants add, so a family in use
/// keeps its most valuable variants before a second copy of the same idea takes the place of
/// another program. The choice is the submodular maximisation of `ptx-eviction`'s
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
        let entries: Vec<Entry> = candidates.iter().map(entry).collect();
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

fn entry(candidate: &Candidate) -> Entry {
    // A lowering too fast to measure still has some worth, or it could never be told from another.
    let cost = candidate.cost.as_secs_f64().max(1e-6);
    Entry {
        worth: candidate.uses * cost,
        bytes: candidate.bytes,
        family: candidate.family.into(),
        pinned: false,
    }
}
