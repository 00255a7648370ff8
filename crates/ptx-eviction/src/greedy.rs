//! Greedy by marginal gain: the lazy solver, and the plain one that it must agree with.

use crate::Error;
use crate::constraint::Constraint;
use crate::lazy_queue::LazyQueue;
use crate::objective::{Objective, checked_gain};
use crate::scratch::{Partial, Scratch, Selection};
use crate::top_gains::select_top_gains;

/// Greedy with lazy evaluation (Minoux, *Accelerated greedy algorithms for maximizing submodular set
/// functions*, 1978): an element's last known gain bounds its gain from above, so only the element that comes
/// first by that bound is evaluated again.
///
/// Chooses the same set as [`plain_greedy`], ties going to the lower index, and fills up: while there is room,
/// elements are added even when they gain nothing.
///
/// # Guarantee
/// * A count, with or without pinned elements: at least `1 − 1/e ≈ 0.632` of the optimum (Nemhauser, Wolsey
///   and Fisher, *An analysis of approximations for maximizing submodular set functions I*, 1978, section 4).
///   Pinned elements leave a problem of the same kind, `f(P ∪ S) − f(P)`, so the bound holds for the rest and
///   therefore for the whole. For a modular objective greedy is optimal.
/// * A cap on each group, with or without a count: at least `1/2` of the optimum (Fisher, Nemhauser and Wolsey,
///   *… II*, 1978: `1/(p + 1)` for the intersection of `p` matroids; a partition matroid truncated to a count
///   is one matroid).
/// * A byte budget: the budget is kept, but greedy by gain has no bound here. Use
///   [`density_greedy`](crate::density_greedy).
///
/// # Complexity
/// `n` gains and one sort to start with, then usually a few gains for each element chosen: in the worst case
/// `O(n·k)` gains for `k` elements, and `O(log n)` for each. A heap holds only elements that were evaluated and
/// overtaken. One more gain for each element kept, pinned ones included, values the set. A modular objective under
/// a count alone is solved by selection instead, in `O(n)`.
///
/// # Errors
/// [`Error::PinnedOverBudget`] when the pinned elements break a budget; [`Error::Gain`] or [`Error::Overflow`]
/// when the objective breaks its contract; [`Error::Length`], [`Error::Element`], [`Error::Group`] or
/// [`Error::TooManyElements`] when the constraint does not describe the objective's elements.
pub fn lazy_greedy<'s, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    scratch.pin(objective, constraint)?;
    if objective.is_modular() && !constraint.limits_bytes() && !constraint.limits_groups() {
        return select_top_gains(objective, scratch);
    }
    scratch.list_free(constraint);
    scratch.bound_gains(objective)?;
    let Scratch { current, free, queue, .. } = scratch;
    queue.fill(free, current.room.count, by_gain);
    fill_lazily(objective, constraint, current, queue, by_gain)?;
    scratch.finish(objective, constraint)
}

/// Greedy that evaluates every remaining element in every round: the textbook algorithm, kept as a reference
/// for tests and measurements. Guarantees and errors are those of [`lazy_greedy`].
///
/// # Complexity
/// `O(n·k)` gains for `k` elements chosen.
///
/// # Errors
/// As [`lazy_greedy`].
pub fn plain_greedy<'s, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    scratch.pin(objective, constraint)?;
    scratch.list_free(constraint);
    let Scratch { current, free, .. } = scratch;
    loop {
        free.retain(|free| current.admits(constraint, free.element as usize));
        let mut best: Option<(usize, f64)> = None;
        for free in free.iter() {
            let element = free.element as usize;
            let gain = checked_gain(objective, &current.state, element)?;
            // In index order, so that the lower index wins a tie.
            if best.is_none_or(|(_, best)| gain > best) {
                best = Some((element, gain));
            }
        }
        let Some((element, gain)) = best else { break };
        current.add(objective, constraint, element, gain);
    }
    scratch.finish(objective, constraint)
}

/// The priority of greedy by gain.
pub(crate) fn by_gain(_element: usize, gain: f64) -> f64 {
    gain
}

/// Adds elements by priority until nothing more may be added.
pub(crate) fn fill_lazily<O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    partial: &mut Partial<O::State>,
    queue: &mut LazyQueue,
    priority: impl Fn(usize, f64) -> f64,
) -> Result<(), Error> {
    while let Some((element, gain)) = queue.pop(objective, constraint, partial, &priority)? {
        partial.add(objective, constraint, element, gain);
    }
    Ok(())
}
