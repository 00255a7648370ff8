//! Greedy by marginal gain: the lazy solver, and the plain one that it must agree with.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::Error;
use crate::constraint::Constraint;
use crate::objective::{Objective, checked_gain};
use crate::scratch::{Free, Partial, Scratch, Selection};
use crate::top_gains::select_top_gains;

/// Greedy with lazy evaluation (Minoux, *Accelerated greedy algorithms for maximizing submodular set
/// functions*, 1978): an element's last known gain bounds its gain from above, so only the top of a heap is
/// evaluated again.
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
/// `n` gains to start with, then usually a few for each element chosen: in the worst case `O(n·k)` gains for
/// `k` elements, and `O(log n)` for each. The heap never holds more than the `n` elements it starts with. A
/// modular objective under a count alone is solved by selection instead, in `O(n)`.
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
    let Scratch { current, free, heap, .. } = scratch;
    refill(heap, free, current.round(), by_gain);
    fill_lazily(objective, constraint, current, heap, by_gain)?;
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

/// An element in a lazy heap, ordered by priority, then gain, then lower index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// What the solver ranks by. Like the gain it never grows as the selection does.
    pub(crate) priority: f64,
    pub(crate) gain: f64,
    pub(crate) element: u32,
    /// The number of elements chosen when the gain was computed.
    pub(crate) round: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority
            .total_cmp(&other.priority)
            .then_with(|| self.gain.total_cmp(&other.gain))
            .then_with(|| other.element.cmp(&self.element))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// The priority of greedy by gain.
pub(crate) fn by_gain(_element: usize, gain: f64) -> f64 {
    gain
}

/// Replaces a heap's content by the free elements, in O(n), and keeps its memory. `round` is that in which
/// their bounds were computed.
pub(crate) fn refill(
    heap: &mut BinaryHeap<Candidate>,
    free: &[Free],
    round: u32,
    priority: impl Fn(usize, f64) -> f64,
) {
    let mut memory = std::mem::take(heap).into_vec();
    memory.clear();
    memory.extend(free.iter().map(|&Free { element, bound }| Candidate {
        priority: priority(element as usize, bound),
        gain: bound,
        element,
        round,
    }));
    *heap = BinaryHeap::from(memory);
}

/// Brings the top of the heap up to date: drops what may not be added any more and evaluates again until the
/// top was evaluated in this round. `None` when nothing may be added.
pub(crate) fn freshen_top<'h, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    partial: &Partial<O::State>,
    heap: &'h mut BinaryHeap<Candidate>,
    priority: &impl Fn(usize, f64) -> f64,
) -> Result<Option<PeekMut<'h, Candidate>>, Error> {
    let always_fresh = objective.is_modular();
    let round = partial.round();
    while let Some(mut top) = heap.peek_mut() {
        let element = top.element as usize;
        if !partial.admits(constraint, element) {
            PeekMut::pop(top);
        } else if always_fresh || top.round == round {
            break;
        } else {
            top.gain = checked_gain(objective, &partial.state, element)?;
            top.priority = priority(element, top.gain);
            top.round = round;
        }
    }
    Ok(heap.peek_mut())
}

/// Adds elements by priority until nothing more may be added.
pub(crate) fn fill_lazily<O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    partial: &mut Partial<O::State>,
    heap: &mut BinaryHeap<Candidate>,
    priority: impl Fn(usize, f64) -> f64,
) -> Result<(), Error> {
    while partial.room.count > 0
        && let Some(top) = freshen_top(objective, constraint, partial, heap, &priority)?
    {
        let Candidate { element, gain, .. } = PeekMut::pop(top);
        partial.add(objective, constraint, element as usize, gain);
    }
    Ok(())
}
