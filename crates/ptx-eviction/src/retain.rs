//! What a cache asks: given these entries and these budgets, which ones stay?

use std::collections::HashMap;

use crate::Error;
use crate::constraint::Constraint;
use crate::exact::{self, EXACT_CANDIDATES};
use crate::knapsack;
use crate::objective::{ConcaveOverGroups, Curve, GroupMass};
use crate::scratch::{Scratch, Selection};
use crate::size::Size;
use crate::top_gains::select_top_gains;

/// One cache entry, as far as retention cares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// What it is worth to keep, in any unit that adds up: for a cache, expected uses times the cost of a miss.
    /// Finite and not negative.
    pub worth: f64,
    /// What it takes of the byte budget.
    pub bytes: u64,
    /// Entries of one family are variants of each other and discount each other. Any number: the first bytes of
    /// a digest do. Two families that share a number by chance are discounted as one and nothing worse.
    pub family: u64,
    /// In use: stays whatever it is worth.
    pub pinned: bool,
}

/// What stays. It borrows the retainer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept<'r> {
    /// Positions of the entries that stay, ascending.
    pub entries: &'r [usize],
    /// Their worth after the discount within families.
    pub value: f64,
    /// How many they are and the bytes that they take, which stop at `u64::MAX`.
    pub size: Size,
    /// The pinned entries alone break a budget. They are then all that stays.
    pub over_budget: bool,
}

/// Chooses which entries of a cache stay, and owns the memory that takes.
///
/// The worth of a family grows along a [`Curve`] scaled to its most valuable entry: entries without siblings
/// keep their proportions, and each variant beside a better one counts for less.
///
/// ```
/// use ptx_eviction::{Curve, Entry, Retainer, Size};
///
/// let entry = |worth, bytes, family| Entry { worth, bytes, family, pinned: false };
/// let entries = [
///     entry(10.0, 4_000, 1),
///     entry(9.0, 4_000, 1), // a variant of the first
///     entry(8.0, 4_000, 2),
///     entry(90.0, 50_000, 3), // larger than the whole budget: it cannot flush the rest
/// ];
/// let mut retainer = Retainer::new(Curve::SquareRoot);
/// let kept = retainer.retain(&entries, Size { entries: 3, bytes: 8_000 })?;
/// assert_eq!(kept.entries, [0, 2]);
/// assert_eq!(kept.size, Size { entries: 2, bytes: 8_000 });
/// # Ok::<(), ptx_eviction::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Retainer {
    curve: Curve,
    family_ids: HashMap<u64, u32, ahash::RandomState>,
    worths: Vec<f64>,
    sizes: Vec<u64>,
    families: Vec<u32>,
    largest_worths: Vec<f64>,
    pinned: Vec<usize>,
    scratch: Scratch<GroupMass>,
}

impl Retainer {
    /// A retainer whose families grow along `curve`.
    pub fn new(curve: Curve) -> Self {
        Self { curve, ..Self::default() }
    }

    /// Chooses which entries stay: pinned ones first, then the best set that the budgets allow. Ties go to the
    /// entry that comes first, so sort entries by key where runs must repeat.
    ///
    /// With at most [`EXACT_CANDIDATES`] entries to choose from (not pinned, and not larger than what the
    /// pinned ones leave) the set is optimal; otherwise it is that of [`density_greedy`](crate::density_greedy), with its guarantee.
    /// Where no family has two entries and only the count binds, the set is optimal and found in O(n).
    ///
    /// An entry larger than the byte budget never stays, unless pinned, and never costs another its place.
    ///
    /// Pinned entries stay even where they alone break a budget, since they are in use: then nothing else does,
    /// and [`Kept::over_budget`] says so.
    ///
    /// # Errors
    /// [`Error::Weight`] for a worth that is NaN, infinite or negative; [`Error::Overflow`] when the worths
    /// add up to infinity; [`Error::Parameter`] for a curve out of range; [`Error::TooManyElements`] for more
    /// than `u32::MAX` entries.
    pub fn retain(&mut self, entries: &[Entry], budget: Size) -> Result<Kept<'_>, Error> {
        self.read(entries)?;
        let objective = ConcaveOverGroups::new(&self.worths, &self.families, self.curve)?
            .with_scales(&self.largest_worths)?;
        let within = Constraint::new()
            .at_most(usize::try_from(budget.entries).unwrap_or(usize::MAX))
            .within_bytes(&self.sizes, budget.bytes)
            .pinned(&self.pinned);
        let scratch = &mut self.scratch;
        let (constraint, over_budget) = match scratch.pin(&objective, &within) {
            Ok(()) => (within, false),
            Err(Error::PinnedOverBudget { .. }) => {
                let alone = Constraint::new().at_most(self.pinned.len()).pinned(&self.pinned);
                scratch.pin(&objective, &alone)?;
                (alone, true)
            }
            Err(error) => return Err(error),
        };
        scratch.list_free(&constraint);
        // A pinned entry's family has its worth already, so its gain is not what it is worth.
        let is_modular = self.largest_worths.len() == self.worths.len() && self.pinned.is_empty();
        if is_modular && scratch.takes_count_alone(&constraint) {
            let selection = select_top_gains(&objective, scratch)?;
            return Ok(Kept {
                entries: selection.elements,
                value: selection.value,
                size: total(&self.sizes, selection.elements),
                over_budget,
            });
        }
        if scratch.free.len() <= EXACT_CANDIDATES {
            exact::search(&objective, &constraint, scratch)?;
        } else {
            knapsack::search(&objective, &constraint, scratch)?;
        }
        let Selection { elements, value, .. } = scratch.finish(&objective, &constraint)?;
        Ok(Kept { entries: elements, value, size: total(&self.sizes, elements), over_budget })
    }

    /// Turns rows into the columns that the solvers take, families numbered as they appear.
    fn read(&mut self, entries: &[Entry]) -> Result<(), Error> {
        if u32::try_from(entries.len()).is_err() {
            return Err(Error::TooManyElements { count: entries.len() });
        }
        self.family_ids.clear();
        self.worths.clear();
        self.sizes.clear();
        self.families.clear();
        self.largest_worths.clear();
        self.pinned.clear();
        let mut next_family = 0_u32;
        for (position, entry) in entries.iter().enumerate() {
            let family = *self.family_ids.entry(entry.family).or_insert_with(|| {
                let new = next_family;
                next_family += 1;
                new
            });
            match self.largest_worths.get_mut(family as usize) {
                Some(largest) => *largest = largest.max(entry.worth),
                None => self.largest_worths.push(entry.worth),
            }
            self.worths.push(entry.worth);
            self.sizes.push(entry.bytes);
            self.families.push(family);
            if entry.pinned {
                self.pinned.push(position);
            }
        }
        Ok(())
    }
}

/// The size of the entries at these positions.
fn total(sizes: &[u64], entries: &[usize]) -> Size {
    let of = |&entry: &usize| Size { entries: 1, bytes: sizes[entry] };
    entries.iter().map(of).fold(Size::default(), Size::saturating_add)
}

#[cfg(test)]
mod tests;
