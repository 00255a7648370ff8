//! Elements by priority, where a priority is trusted only as an upper bound until its element comes first.

use std::collections::BinaryHeap;

use crate::Error;
use crate::constraint::Constraint;
use crate::objective::{Objective, checked_gain};
use crate::scratch::{Free, Partial};

/// A priority queue for lazy greedy.
///
/// Most elements are taken in the order of their first bound, if at all: those stand in a sorted array, which
/// memory likes better than a heap of everything. Only elements whose gain fell since, and that were overtaken,
/// enter a heap, which therefore never holds more than the elements that were looked at in vain.
#[derive(Debug, Default)]
pub(crate) struct LazyQueue {
    /// By first bound, ascending from `unsorted` on; everything before that is smaller.
    by_bound: Vec<Candidate>,
    unsorted: usize,
    /// Elements from here on were taken out of `by_bound`.
    taken: usize,
    overtaken: BinaryHeap<Candidate>,
}

/// A bound and its element in one integer that orders by bound, then by lower index: such integers compare and
/// sort without branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u128);

impl Candidate {
    /// Comes after every candidate: indices are below `u32::MAX`, so no candidate is zero.
    const NONE: Self = Self(0);

    /// The bits of a float that is not negative, read as an integer, order as the floats do.
    fn new(bound: f64, element: u32) -> Self {
        Self(u128::from(bound.to_bits()) << 32 | u128::from(!element))
    }

    fn element(self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the element")]
        let low = self.0 as u32;
        !low
    }
}

impl LazyQueue {
    /// Replaces the content by the free elements with the priorities of their bounds. About `expected` elements
    /// will be taken: where that is a small part, no more than twice as many are sorted until more are needed.
    pub(crate) fn fill(
        &mut self,
        free: &[Free],
        expected: usize,
        priority: impl Fn(usize, f64) -> f64,
    ) {
        self.by_bound.clear();
        self.by_bound.extend(free.iter().map(|&Free { element, bound }| {
            Candidate::new(priority(element as usize, bound), element)
        }));
        self.unsorted = self.by_bound.len();
        let first = expected.saturating_mul(2);
        if first < self.by_bound.len() / 2 {
            let boundary = self.by_bound.len() - first;
            self.by_bound.select_nth_unstable(boundary);
            self.sort_from(boundary);
        } else {
            self.sort_from(0);
        }
        self.rewind();
    }

    fn sort_from(&mut self, start: usize) {
        self.by_bound[start..self.unsorted].sort_unstable();
        self.unsorted = start;
    }

    /// Starts over with all elements and their first bounds.
    pub(crate) fn rewind(&mut self) {
        self.taken = self.by_bound.len();
        self.overtaken.clear();
    }

    /// Takes out the element of the highest priority over `partial`, with its gain. `None` when no element may
    /// be added. Elements that may not be added any more are dropped on the way.
    pub(crate) fn pop<O: Objective>(
        &mut self,
        objective: &O,
        constraint: &Constraint<'_>,
        partial: &Partial<O::State>,
        priority: impl Fn(usize, f64) -> f64,
    ) -> Result<Option<(usize, f64)>, Error> {
        if partial.room.count == 0 {
            return Ok(None);
        }
        loop {
            let first = self.pop_bound();
            if first == Candidate::NONE {
                return Ok(None);
            }
            let element = first.element() as usize;
            if !partial.admits(constraint, element) {
                continue;
            }
            let gain = checked_gain(objective, &partial.state, element)?;
            let now = Candidate::new(priority(element, gain), first.element());
            if now > self.next_by_bound().max(self.next_overtaken()) {
                return Ok(Some((element, gain)));
            }
            self.overtaken.push(now);
        }
    }

    /// Puts back an element that was taken out, with its priority.
    pub(crate) fn push(&mut self, element: usize, priority: f64) {
        // Elements are counted in u32, so this always holds.
        if let Ok(element) = u32::try_from(element) {
            self.overtaken.push(Candidate::new(priority, element));
        }
    }

    fn pop_bound(&mut self) -> Candidate {
        let next = self.next_by_bound();
        if next < self.next_overtaken() {
            return self.overtaken.pop().unwrap_or(Candidate::NONE);
        }
        self.taken = self.taken.saturating_sub(1);
        next
    }

    fn next_overtaken(&self) -> Candidate {
        self.overtaken.peek().copied().unwrap_or(Candidate::NONE)
    }

    fn next_by_bound(&mut self) -> Candidate {
        if self.taken == self.unsorted && self.unsorted > 0 {
            self.sort_from(0);
        }
        let last = self.taken.wrapping_sub(1);
        self.by_bound.get(last).copied().unwrap_or(Candidate::NONE)
    }
}
