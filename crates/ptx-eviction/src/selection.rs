//! A set that is being chosen, and what may still be added to it.

use crate::problem::Problem;
use crate::size::Size;

/// A set of entries, its value, and the room that is left.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// The worth that the set has of each family.
    kept: Vec<f64>,
    /// What is left of the budget.
    pub(crate) room: Size,
    /// The sum of the gains in the order of adding.
    pub(crate) value: f64,
    /// The entries in the order of adding, pinned ones first.
    pub(crate) chosen: Vec<usize>,
    is_chosen: Vec<bool>,
}

/// An entry that may be added to the pinned ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) entry: u32,
    /// The gain over the pinned entries alone. By submodularity no later gain is larger.
    pub(crate) bound: f64,
}

impl Selection {
    /// Chooses the pinned entries and nothing else. Returns false if they exceed `budget`.
    pub(crate) fn start(&mut self, problem: &Problem, budget: Size) -> bool {
        self.kept.clear();
        self.kept.resize(problem.family_count(), 0.0);
        self.room = budget;
        self.value = 0.0;
        self.chosen.clear();
        self.is_chosen.clear();
        self.is_chosen.resize(problem.entry_count(), false);
        let mut fits = true;
        for &entry in problem.pinned() {
            fits &= self.admits(problem, entry);
            self.add(problem, entry, self.gain(problem, entry));
        }
        fits
    }

    /// Becomes a copy of `source` and keeps the memory.
    pub(crate) fn copy_from(&mut self, source: &Self) {
        self.kept.clone_from(&source.kept);
        self.room = source.room;
        self.value = source.value;
        self.chosen.clone_from(&source.chosen);
        self.is_chosen.clone_from(&source.is_chosen);
    }

    /// Returns true if `entry` may be added. Room only shrinks, so what may not now never may.
    pub(crate) fn admits(&self, problem: &Problem, entry: usize) -> bool {
        let size = Size { entries: 1, bytes: problem.bytes(entry) };
        !self.is_chosen[entry] && size.fits(self.room)
    }

    /// What adding `entry` would add to the value.
    #[inline]
    pub(crate) fn gain(&self, problem: &Problem, entry: usize) -> f64 {
        problem.gain(self.kept[problem.family(entry)], entry)
    }

    /// Adds an entry that was admitted and has this gain.
    ///
    /// The value stops at `f64::MAX`: the worths add up to less, but gains can round up.
    pub(crate) fn add(&mut self, problem: &Problem, entry: usize, gain: f64) {
        self.kept[problem.family(entry)] += problem.worth(entry);
        self.room = self.room.saturating_sub(Size { entries: 1, bytes: problem.bytes(entry) });
        self.value = (self.value + gain).min(f64::MAX);
        self.chosen.push(entry);
        self.is_chosen[entry] = true;
    }

    /// Replaces `candidates` by the entries that may be added, in order of position.
    pub(crate) fn list_candidates(&self, problem: &Problem, candidates: &mut Vec<Candidate>) {
        let entries = (0..problem.entry_count()).zip(0_u32..);
        let admitted = entries.filter(|&(position, _)| self.admits(problem, position));
        candidates.clear();
        candidates.extend(
            admitted
                .map(|(position, entry)| Candidate { entry, bound: self.gain(problem, position) }),
        );
    }

    /// Returns true if the bytes of all candidates together exceed the room.
    pub(crate) fn bytes_bind(&self, problem: &Problem, candidates: &[Candidate]) -> bool {
        let bytes = candidates.iter().map(|candidate| problem.bytes(candidate.entry as usize));
        bytes.fold(0, u64::saturating_add) > self.room.bytes
    }

    /// Puts the entries into `positions`, ascending, and returns their value and size.
    ///
    /// The value is summed in that order, so that equal sets have equal values to the last bit.
    pub(crate) fn finish(&mut self, problem: &Problem, positions: &mut Vec<usize>) -> (f64, Size) {
        // A scan of the marks sorts in O(n), whichever order the entries were added in.
        positions.clear();
        positions.extend((0..self.is_chosen.len()).filter(|&entry| self.is_chosen[entry]));
        self.kept.fill(0.0);
        let (mut value, mut size) = (0.0_f64, Size::default());
        for &entry in positions.iter() {
            value += self.gain(problem, entry);
            self.kept[problem.family(entry)] += problem.worth(entry);
            size = size.saturating_add(Size { entries: 1, bytes: problem.bytes(entry) });
        }
        (value.min(f64::MAX), size)
    }
}
