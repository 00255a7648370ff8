//! Who stays when the budget is full.

use std::time::Duration;

use crate::Budget;

/// A resident entry, as retention sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// What it weighs, in bytes.
    pub bytes: u64,
    /// Recent uses: halved with each half-life since.
    pub uses: u32,
    /// Half-lives since the last use.
    pub idle: u32,
    /// What the next miss would cost.
    pub cost: Duration,
    /// Variants of one program share it.
    pub family: u32,
}

/// Chooses which entries stay.
///
/// Called by an insertion that meets a full budget, under no lock that a hit or another key's
/// lowering waits for.
pub trait Retention: Send + Sync + 'static {
    /// The positions in `candidates` of those that stay. The cache retires the others, and of
    /// these as many of the last ones as the budget does not hold. Positions that are out of
    /// range or named twice are passed over.
    fn keep(&self, candidates: &[Candidate], budget: Budget) -> Vec<usize>;
}

/// Temporary until the solver's glue.
#[derive(Clone, Debug, Default)]
pub struct FamilyRetention {}

impl Retention for FamilyRetention {
    fn keep(&self, candidates: &[Candidate], budget: Budget) -> Vec<usize> {
        let _ = budget;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|i| {
            std::cmp::Reverse(candidates.get(*i).map(|c| u128::from(c.uses) * c.cost.as_nanos()))
        });
        order
    }
}
