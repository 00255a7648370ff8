//! Which candidate comes first, with as few gains computed as possible.

use std::collections::BinaryHeap;

use crate::problem::Problem;
use crate::selection::{Candidate, Selection};

/// The candidates by priority, for lazy greedy.
///
/// Greedy needs the candidate of the highest priority again and again, while every choice can lower
/// the priorities of others. By submodularity priorities only fall, so an old priority is an upper
/// bound, and only a candidate that comes first by its bound needs a new one (Minoux, *Accelerated
/// greedy algorithms for maximizing submodular set functions*, 1978):
///
/// 1. Take the candidate whose bound is highest. Drop it if it no longer fits.
/// 2. Compute its priority now.
/// 3. If that still exceeds every other bound, it is the first. Otherwise it is a new bound: go to 1.
///
/// First bounds stand in a sorted array, since most candidates are chosen in that order, if at all,
/// and memory likes an array better than a heap of everything. A candidate whose priority fell
/// enters a heap, which is therefore small.
#[derive(Debug, Default)]
pub(crate) struct LazyQueue {
    /// By first bound, ascending from `unsorted` on. Everything before that is smaller.
    by_bound: Vec<Ranked>,
    unsorted: usize,
    /// Candidates from here on were taken out of `by_bound`.
    taken: usize,
    overtaken: BinaryHeap<Ranked>,
}

/// A priority and its entry in one integer, which orders by priority, then by lower position. Such
/// integers compare and sort without branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked(u128);

impl Ranked {
    /// Comes after every entry: positions are below `u32::MAX`, so no entry is zero.
    const NONE: Self = Self(0);

    /// The bits of a float that is not negative, read as an integer, order as the floats do.
    fn new(priority: f64, entry: u32) -> Self {
        Self(u128::from(priority.to_bits()) << 32 | u128::from(!entry))
    }

    fn entry(self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the entry")]
        let low = self.0 as u32;
        !low
    }
}

/// The priority of greedy by gain.
pub(crate) fn by_gain(_entry: usize, gain: f64) -> f64 {
    gain
}

impl LazyQueue {
    /// Replaces the content by `candidates`. `priority` maps an entry and its gain.
    ///
    /// About `expected` of them will be chosen. Where that is a small part, no more than twice as
    /// many are sorted until more are needed.
    pub(crate) fn fill(
        &mut self,
        candidates: &[Candidate],
        expected: u64,
        priority: impl Fn(usize, f64) -> f64,
    ) {
        self.by_bound.clear();
        self.by_bound.extend(candidates.iter().map(|&Candidate { entry, bound }| {
            Ranked::new(priority(entry as usize, bound), entry)
        }));
        self.unsorted = self.by_bound.len();
        let first = usize::try_from(expected).unwrap_or(usize::MAX).saturating_mul(2);
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

    /// Starts over with all candidates and their first bounds.
    pub(crate) fn rewind(&mut self) {
        self.taken = self.by_bound.len();
        self.overtaken.clear();
    }

    /// Removes the entry that has the highest priority over `selection`, and returns it with its
    /// gain. Returns `None` when nothing may be added.
    pub(crate) fn pop(
        &mut self,
        problem: &Problem,
        selection: &Selection,
        priority: impl Fn(usize, f64) -> f64,
    ) -> Option<(usize, f64)> {
        if selection.room.entries == 0 {
            return None;
        }
        loop {
            let first = self.pop_bound();
            if first == Ranked::NONE {
                return None;
            }
            let entry = first.entry() as usize;
            if !selection.admits(problem, entry) {
                continue;
            }
            let gain = selection.gain(problem, entry);
            let now = Ranked::new(priority(entry, gain), first.entry());
            if now > self.next_by_bound().max(self.next_overtaken()) {
                return Some((entry, gain));
            }
            self.overtaken.push(now);
        }
    }

    /// Puts back an entry that was removed.
    pub(crate) fn push(&mut self, entry: usize, priority: f64) {
        // Positions are below `u32::MAX`, so this always holds.
        if let Ok(entry) = u32::try_from(entry) {
            self.overtaken.push(Ranked::new(priority, entry));
        }
    }

    /// Adds entries by priority until nothing more may be added.
    pub(crate) fn add_all(
        &mut self,
        problem: &Problem,
        selection: &mut Selection,
        priority: impl Fn(usize, f64) -> f64,
    ) {
        while let Some((entry, gain)) = self.pop(problem, selection, &priority) {
            selection.add(problem, entry, gain);
        }
    }

    fn pop_bound(&mut self) -> Ranked {
        let next = self.next_by_bound();
        if next < self.next_overtaken() {
            return self.overtaken.pop().unwrap_or(Ranked::NONE);
        }
        self.taken = self.taken.saturating_sub(1);
        next
    }

    fn next_overtaken(&self) -> Ranked {
        self.overtaken.peek().copied().unwrap_or(Ranked::NONE)
    }

    fn next_by_bound(&mut self) -> Ranked {
        if self.taken == self.unsorted && self.unsorted > 0 {
            self.sort_from(0);
        }
        let last = self.taken.wrapping_sub(1);
        self.by_bound.get(last).copied().unwrap_or(Ranked::NONE)
    }
}
