//! Exact search for the case where few large entries compete and a greedy mistake costs most.

use crate::Error;
use crate::constraint::Constraint;
use crate::greedy::{by_gain, fill_lazily};
use crate::knapsack::{as_f64, density};
use crate::objective::{Objective, checked_gain};
use crate::scratch::{Free, Partial, Scratch, Selection};

/// The most candidates that [`exact_search`] accepts: elements that are not pinned and fit on their own.
pub const EXACT_CANDIDATES: usize = 14;

/// The best feasible set, by branch and bound, for any constraint and at most [`EXACT_CANDIDATES`] candidates.
///
/// Branches over elements in the order of their density. A branch is cut when its value plus the fractional
/// knapsack of the remaining gains, taken over the pinned elements, cannot beat the best set known: by
/// submodularity no later gain is larger (the bound of Horowitz and Sahni, *Computing partitions with applications
/// to the knapsack problem*, 1974, for modular values). Once the best is found, what still fits is added even if it
/// gains nothing.
///
/// # Guarantee
/// Optimal, up to the rounding of sums.
///
/// # Complexity
/// At most `2^c` gains and copies of the state for `c` candidates; far fewer unless all densities are alike.
///
/// # Errors
/// [`Error::TooManyCandidates`]; otherwise as [`lazy_greedy`](crate::lazy_greedy).
pub fn exact_search<'s, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    scratch.pin(objective, constraint)?;
    scratch.list_free(constraint);
    if scratch.free.len() > EXACT_CANDIDATES {
        return Err(Error::TooManyCandidates {
            found: scratch.free.len(),
            limit: EXACT_CANDIDATES,
        });
    }
    search(objective, constraint, scratch)?;
    scratch.finish(objective, constraint)
}

/// Leaves the best set in `current`, after [`Scratch::list_free`].
pub(crate) fn search<O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &mut Scratch<O::State>,
) -> Result<(), Error> {
    scratch.bound_gains(objective)?;
    let Scratch { base, current, depths, free, queue, .. } = scratch;
    queue.fill(free, base.room.count, by_gain);
    // A stable sort would allocate, and the index makes the order total anyway.
    let price = |free: &Free| density(constraint.size(free.element as usize), 0.0, free.bound);
    free.sort_unstable_by(|left, right| {
        let by_density = price(right).total_cmp(&price(left));
        by_density.then(left.element.cmp(&right.element))
    });
    depths.resize_with(depths.len().max(free.len()), Partial::default);

    let mut search = Branching { objective, constraint, order: free, best: current };
    search.descend(base, depths, 0)?;
    fill_lazily(objective, constraint, current, queue, by_gain)
}

struct Branching<'p, O: Objective> {
    objective: &'p O,
    constraint: &'p Constraint<'p>,
    /// The candidates by descending density.
    order: &'p [Free],
    best: &'p mut Partial<O::State>,
}

impl<O: Objective> Branching<'_, O> {
    /// Tries every extension of `here` by candidates from `next` on. `depths` has one selection to work in for
    /// each candidate that may still be added.
    fn descend(
        &mut self,
        here: &Partial<O::State>,
        depths: &mut [Partial<O::State>],
        next: usize,
    ) -> Result<(), Error> {
        if here.value > self.best.value {
            self.best.copy_from(here);
        }
        let Some((child, deeper)) = depths.split_first_mut() else {
            return Ok(());
        };
        for position in next..self.order.len() {
            if self.bound(here, position) <= self.best.value {
                break;
            }
            let element = self.order[position].element as usize;
            if here.admits(self.constraint, element) {
                let gain = checked_gain(self.objective, &here.state, element)?;
                child.copy_from(here);
                child.add(self.objective, self.constraint, element, gain);
                self.descend(child, deeper, position + 1)?;
            }
        }
        Ok(())
    }

    /// No extension of `here` by candidates from `next` on is worth more.
    fn bound(&self, here: &Partial<O::State>, next: usize) -> f64 {
        let mut bound = here.value;
        let mut left = here.room.bytes;
        for candidate in &self.order[next..] {
            let element = candidate.element as usize;
            if !here.admits(self.constraint, element) {
                continue;
            }
            let size = self.constraint.size(element);
            if size > left {
                return bound + candidate.bound * (as_f64(left) / as_f64(size));
            }
            left -= size;
            bound += candidate.bound;
        }
        bound
    }
}
