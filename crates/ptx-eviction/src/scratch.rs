//! The memory that solvers reuse, and the steps that every solver starts and ends with.

use crate::Error;
use crate::constraint::{Constraint, Room};
use crate::knapsack::bytes_bind;
use crate::lazy_queue::LazyQueue;
use crate::objective::{Objective, checked_gain, evaluate};

/// Memory that a solver works in, for objectives whose state is `S`. Keep one and pass it to every run: once it
/// has grown to the problem's size, runs allocate nothing. Nothing but memory carries over from run to run, and
/// a run that failed leaves it usable.
///
/// ```
/// use ptx_eviction::{Constraint, Modular, Scratch, lazy_greedy};
///
/// let mut scratch = Scratch::default();
/// for weights in [[3.0, 1.0, 2.0], [0.5, 4.0, 9.0]] {
///     let objective = Modular::new(&weights)?;
///     let kept = lazy_greedy(&objective, &Constraint::new().at_most(2), &mut scratch)?;
///     assert_eq!(kept.elements.len(), 2);
/// }
/// # Ok::<(), ptx_eviction::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Scratch<S> {
    /// The pinned elements alone.
    pub(crate) base: Partial<S>,
    /// The selection being built, and at the end the one that is returned.
    pub(crate) current: Partial<S>,
    /// The best selection so far, where a solver tries several.
    pub(crate) best: Partial<S>,
    /// One selection for each depth of an exact search.
    pub(crate) depths: Vec<Partial<S>>,
    /// The elements that may be added to the pinned ones, in index order.
    pub(crate) free: Vec<Free>,
    pub(crate) queue: LazyQueue,
    pub(crate) density_queue: LazyQueue,
    /// The order in which density greedy added its elements.
    pub(crate) prefix: Vec<usize>,
    /// Gains as integers in the order of their size, for selection.
    pub(crate) keys: Vec<u64>,
    pub(crate) kept: Vec<usize>,
}

/// An element that may be added to the pinned ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free {
    pub(crate) element: u32,
    /// No later gain is larger: infinite until [`Scratch::bound_gains`] puts the gain over the pinned elements.
    pub(crate) bound: f64,
}

/// A partial selection: its elements, what they cover, and what may still be taken.
#[derive(Debug, Default)]
pub(crate) struct Partial<S> {
    pub(crate) state: S,
    pub(crate) room: Room,
    /// The sum of gains in the order of adding: enough to compare two selections of one run.
    pub(crate) value: f64,
    /// In the order of adding, pinned elements first.
    pub(crate) chosen: Vec<usize>,
    /// Whether an element is in `chosen`.
    member: Vec<bool>,
}

impl<S> Partial<S> {
    /// Whether `element` may be added. Room only shrinks, so once it may not, it never may.
    pub(crate) fn admits(&self, constraint: &Constraint<'_>, element: usize) -> bool {
        !self.member[element] && self.room.admits(constraint, element)
    }

    /// Adds an element that was admitted and whose gain is known.
    pub(crate) fn add<O: Objective<State = S>>(
        &mut self,
        objective: &O,
        constraint: &Constraint<'_>,
        element: usize,
        gain: f64,
    ) {
        objective.add(&mut self.state, element);
        self.room.take(constraint, element);
        self.value += gain;
        self.chosen.push(element);
        self.member[element] = true;
    }

    pub(crate) fn is_member(&self, element: usize) -> bool {
        self.member[element]
    }
}

impl<S: Clone> Partial<S> {
    /// Becomes a copy of `source` in the memory that is there.
    pub(crate) fn copy_from(&mut self, source: &Self) {
        self.state.clone_from(&source.state);
        self.room.copy_from(&source.room);
        self.value = source.value;
        self.chosen.clone_from(&source.chosen);
        self.member.clone_from(&source.member);
    }
}

/// The set that a solver chose. It borrows the scratch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection<'s> {
    /// The elements that stay, in ascending order, pinned ones included.
    pub elements: &'s [usize],
    /// The objective's value of exactly this set, summed in ascending order: equal sets have equal values to
    /// the bit, whichever solver found them.
    pub value: f64,
    /// What the set takes of the byte budget; 0 without one.
    pub bytes: u64,
}

impl<S: Default + Clone> Scratch<S> {
    /// Checks the problem and puts the pinned elements into `base`.
    pub(crate) fn pin<O: Objective<State = S>>(
        &mut self,
        objective: &O,
        constraint: &Constraint<'_>,
    ) -> Result<(), Error> {
        let count = objective.element_count();
        constraint.check(count)?;
        let base = &mut self.base;
        objective.clear(&mut base.state);
        base.room.reset(constraint, count);
        base.value = 0.0;
        base.chosen.clear();
        base.member.clear();
        base.member.resize(count, false);
        for &element in constraint.pinned_elements() {
            if base.member[element] {
                continue;
            }
            if !base.room.admits(constraint, element) {
                return Err(constraint.pinned_over_budget(&mut base.member));
            }
            let gain = checked_gain(objective, &base.state, element)?;
            base.add(objective, constraint, element, gain);
        }
        Ok(())
    }

    /// Lists in `free` what may be added to `base`, and makes `current` a copy of `base`.
    pub(crate) fn list_free(&mut self, constraint: &Constraint<'_>) {
        self.current.copy_from(&self.base);
        self.free.clear();
        let base = &self.base;
        let elements = (0..base.member.len()).zip(0_u32..);
        self.free.extend(
            elements
                .filter(|&(index, _)| base.admits(constraint, index))
                .map(|(_, element)| Free { element, bound: f64::INFINITY }),
        );
    }

    /// Whether every element may be added, and all of them together would break no budget of bytes:
    /// only a count can then leave any out.
    pub(crate) fn takes_count_alone(&self, constraint: &Constraint<'_>) -> bool {
        let is_whole = self.free.len() + self.base.chosen.len() == self.base.member.len();
        is_whole && !bytes_bind(constraint, &self.base.room, &self.free)
    }

    /// Bounds the gain of each free element by its gain over the pinned ones.
    pub(crate) fn bound_gains<O: Objective<State = S>>(
        &mut self,
        objective: &O,
    ) -> Result<(), Error> {
        for free in &mut self.free {
            free.bound = checked_gain(objective, &self.base.state, free.element as usize)?;
        }
        Ok(())
    }

    /// The elements of `current`, sorted and valued.
    pub(crate) fn finish<O: Objective<State = S>>(
        &mut self,
        objective: &O,
        constraint: &Constraint<'_>,
    ) -> Result<Selection<'_>, Error> {
        let member = &self.current.member;
        // Scanning the marks sorts in O(n), whatever order the elements were chosen in.
        self.kept.clear();
        self.kept.extend((0..member.len()).filter(|&element| member[element]));
        let value = evaluate(objective, &self.kept, &mut self.current.state)?;
        // Never more than the budget, so the sum cannot overflow.
        let bytes = self.kept.iter().map(|&element| constraint.size(element));
        Ok(Selection { elements: &self.kept, value, bytes: bytes.fold(0, u64::saturating_add) })
    }
}
