//! The best set there is, for few candidates.
//!
//! Where few large entries compete, a greedy mistake costs most, and trying all sets costs little.

use crate::lazy_queue::{LazyQueue, by_gain};
use crate::problem::{Problem, as_f64};
use crate::selection::{Candidate, Selection};

/// The most candidates that [`ExactSearch::search`] is for: it computes at most `2^14` gains.
pub(crate) const MOST_CANDIDATES: usize = 14;

/// Branch and bound over all feasible sets, and the memory that it works in.
///
/// It branches over candidates in order of density. A branch is cut when its value plus the
/// fractional knapsack of the remaining bounds cannot exceed the best set known (the bound of
/// Horowitz and Sahni, *Computing partitions with applications to the knapsack problem*, 1974, for
/// values that add up; by submodularity it holds here). To the best set it adds what still fits, even
/// if that gains nothing.
///
/// # Guarantee
/// Optimal, up to the rounding of sums.
///
/// # Complexity
/// At most `2^c` gains and copies of a selection for `c` candidates; far fewer unless all
/// densities are alike.
#[derive(Debug, Default)]
pub(crate) struct ExactSearch {
    /// One selection for each depth of the search.
    depths: Vec<Selection>,
    queue: LazyQueue,
}

impl ExactSearch {
    /// Adds the set to `chosen`, which starts as a copy of `pinned`. Reorders `candidates`.
    pub(crate) fn search(
        &mut self,
        problem: &Problem,
        pinned: &Selection,
        candidates: &mut [Candidate],
        chosen: &mut Selection,
    ) {
        let Self { depths, queue } = self;
        queue.fill(candidates, pinned.room.entries, by_gain);
        let density = |one: &Candidate| problem.density(one.entry as usize, 0.0, one.bound);
        // A stable sort would allocate. The position makes the order total.
        candidates.sort_unstable_by(|left, right| {
            let by_density = density(right).total_cmp(&density(left));
            by_density.then(left.entry.cmp(&right.entry))
        });
        depths.resize_with(depths.len().max(candidates.len()), Selection::default);
        Branching { problem, order: candidates, best: chosen }.descend(pinned, depths, 0);
        queue.add_all(problem, chosen, by_gain);
    }
}

struct Branching<'p> {
    problem: &'p Problem,
    /// The candidates by descending density.
    order: &'p [Candidate],
    best: &'p mut Selection,
}

impl Branching<'_> {
    /// Tries every extension of `here` by candidates from `next` on. `depths` has a selection to
    /// work in for each candidate that may still be added.
    fn descend(&mut self, here: &Selection, depths: &mut [Selection], next: usize) {
        if here.value > self.best.value {
            self.best.copy_from(here);
        }
        let Some((child, deeper)) = depths.split_first_mut() else { return };
        for position in next..self.order.len() {
            if self.bound(here, position) <= self.best.value {
                break;
            }
            let entry = self.order[position].entry as usize;
            if here.admits(self.problem, entry) {
                child.copy_from(here);
                child.add(self.problem, entry, here.gain(self.problem, entry));
                self.descend(child, deeper, position + 1);
            }
        }
    }

    /// No extension of `here` by candidates from `next` on has a larger value.
    fn bound(&self, here: &Selection, next: usize) -> f64 {
        let mut bound = here.value;
        let mut left = here.room.bytes;
        for candidate in &self.order[next..] {
            let entry = candidate.entry as usize;
            if !here.admits(self.problem, entry) {
                continue;
            }
            let bytes = self.problem.bytes(entry);
            if bytes > left {
                return bound + candidate.bound * (as_f64(left) / as_f64(bytes));
            }
            left -= bytes;
            bound += candidate.bound;
        }
        bound
    }
}
