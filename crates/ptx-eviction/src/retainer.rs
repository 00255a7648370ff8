//! Which entries stay.

use crate::curve::Curve;
use crate::density_greedy::DensityGreedy;
use crate::error::Error;
use crate::exact_search::{ExactSearch, MOST_CANDIDATES};
use crate::problem::{Entry, Problem};
use crate::selection::{Candidate, Selection};
use crate::size::Size;
use crate::top_gains::TopGains;

/// The entries that stay. It borrows the retainer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept<'r> {
    /// The positions of the entries that stay, ascending.
    pub entries: &'r [usize],
    /// Their value: their worth after the discount within families.
    pub value: f64,
    /// Their number and bytes. The bytes stop at `u64::MAX`.
    pub size: Size,
    /// The pinned entries alone exceed the budget. Nothing else stays.
    pub over_budget: bool,
}

/// Chooses which entries of a cache stay.
///
/// The value of a family grows along a [`Curve`]: an entry without variants counts in proportion to
/// its worth, and each variant beside a better one counts for less.
///
/// A retainer owns the memory that it works in. Once that has grown to the number of entries, a
/// choice allocates nothing. Only memory is carried from one choice to the next.
///
/// ```
/// use ptx_eviction::{Curve, Entry, Retainer, Size};
///
/// let entry = |worth, bytes, family| Entry { worth, bytes, family, pinned: false };
/// let entries = [
///     entry(10.0, 4_000, 1),
///     entry(9.0, 4_000, 1), // a variant of the first
///     entry(8.0, 4_000, 2),
///     entry(90.0, 50_000, 3), // larger than the budget
/// ];
/// let mut retainer = Retainer::new(Curve::SquareRoot);
/// let kept = retainer.retain(&entries, Size { entries: 3, bytes: 8_000 })?;
/// assert_eq!(kept.entries, [0, 2]);
/// assert_eq!(kept.size, Size { entries: 2, bytes: 8_000 });
/// # Ok::<(), ptx_eviction::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Retainer {
    problem: Problem,
    /// The pinned entries alone.
    pinned: Selection,
    chosen: Selection,
    candidates: Vec<Candidate>,
    top_gains: TopGains,
    exact: ExactSearch,
    greedy: DensityGreedy,
    kept: Vec<usize>,
}

impl Retainer {
    /// Creates a retainer in which the values of families grow along `curve`.
    pub fn new(curve: Curve) -> Self {
        Self { problem: Problem::new(curve), ..Self::default() }
    }

    /// Chooses which entries stay: the pinned ones, and the best of the others that `budget` allows.
    ///
    /// Candidates are the entries that are not pinned and that fit beside the pinned ones. With at most
    /// 14 candidates the set is optimal. It is also optimal where no two entries share a family and
    /// only the number of entries binds; that case takes O(n). Otherwise the value of the set is at
    /// least this share of the optimum, and in practice it is usually within a few percent of it:
    ///
    /// | what binds | share |
    /// | --- | --- |
    /// | entries | 1 − 1/e ≈ 0.632 |
    /// | bytes | 0.5 |
    /// | both | 0.197 |
    ///
    /// Nothing that still fits is left out. An entry that exceeds the byte budget never stays unless
    /// it is pinned, and never takes another's place. Ties go to the entry that comes first, so sort the entries
    /// by key where runs must repeat.
    ///
    /// Pinned entries are in use, so they stay even if they alone exceed the budget. Nothing else
    /// stays then, and [`Kept::over_budget`] is true.
    ///
    /// # Errors
    /// * [`Error::Worth`] if a worth is NaN, infinite or negative.
    /// * [`Error::Overflow`] if the worths add up to infinity.
    /// * [`Error::Curve`] if the curve's `at` is NaN, infinite or negative.
    /// * [`Error::TooManyEntries`] if there are more than `u32::MAX` entries.
    pub fn retain(&mut self, entries: &[Entry], budget: Size) -> Result<Kept<'_>, Error> {
        let Self { problem, pinned, chosen, candidates, .. } = self;
        problem.read(entries)?;
        let over_budget = !pinned.start(problem, budget);
        chosen.copy_from(pinned);
        if !over_budget {
            pinned.list_candidates(problem, candidates);
            let all_may_stay =
                candidates.len() == entries.len() && !pinned.bytes_bind(problem, candidates);
            if problem.is_modular() && all_may_stay {
                self.top_gains.search(problem, candidates, chosen);
            } else if candidates.len() <= MOST_CANDIDATES {
                self.exact.search(problem, pinned, candidates, chosen);
            } else {
                self.greedy.search(problem, pinned, candidates, chosen);
            }
        }
        let (value, size) = chosen.finish(problem, &mut self.kept);
        Ok(Kept { entries: &self.kept, value, size, over_budget })
    }
}

#[cfg(test)]
mod tests;
