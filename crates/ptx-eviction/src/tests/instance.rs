//! Random small problems, and their true optimum by trying every subset.

use proptest::prelude::*;

use crate::curve::Curve;
use crate::problem::{Entry, Problem};
use crate::selection::{Candidate, Selection};
use crate::size::Size;

/// At most this many entries, so that every subset can be tried.
pub(super) const MOST_ENTRIES: usize = 14;

#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) entries: Vec<Entry>,
    pub(super) curve: Curve,
    pub(super) budget: Size,
}

/// Few distinct values, so that ties are common, and some that are not round.
fn worth() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0_u8..5).prop_map(f64::from),
        2 => 0.0..10.0_f64,
        1 => Just(0.1),
        1 => Just(1e-9),
        1 => Just(1e9),
    ]
}

pub(super) fn curve() -> impl Strategy<Value = Curve> {
    prop_oneof![
        Just(Curve::SquareRoot),
        Just(Curve::Log1p),
        (0.0..4.0_f64).prop_map(|at| Curve::Saturating { at }),
    ]
}

prop_compose! {
    pub(super) fn instance()(
        rows in prop::collection::vec(
            (worth(), prop_oneof![0_u64..8, 0_u64..40], 0_u64..5),
            1..=MOST_ENTRIES,
        ),
        curve in curve(),
        entries in 0_u64..=14,
        bytes in 0_u64..80,
        pinned in prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(any::<prop::sample::Index>(), 0..3)],
    ) -> Instance {
        let row = |&(worth, bytes, family)| Entry { worth, bytes, family, pinned: false };
        let mut rows: Vec<Entry> = rows.iter().map(row).collect();
        for index in pinned {
            let at = index.index(rows.len());
            rows[at].pinned = true;
        }
        Instance { entries: rows, curve, budget: Size { entries, bytes } }
    }
}

impl Instance {
    /// An instance of entries that are not pinned, each in a separate family.
    pub(super) fn of_unrelated(worths: &[f64], bytes: &[u64], budget: Size) -> Self {
        let rows = worths.iter().zip(bytes).zip(0..);
        let entry = |((&worth, &bytes), family)| Entry { worth, bytes, family, pinned: false };
        Self { entries: rows.map(entry).collect(), curve: Curve::SquareRoot, budget }
    }

    /// The same entries, each in a separate family.
    pub(super) fn without_variants(mut self) -> Self {
        for (entry, family) in self.entries.iter_mut().zip(0..) {
            entry.family = family;
        }
        self
    }

    /// The budget with every combination of its limits.
    pub(super) fn budgets(&self) -> [Size; 4] {
        let Size { entries, bytes } = self.budget;
        [
            Size::UNBOUNDED,
            Size { entries, ..Size::UNBOUNDED },
            Size { bytes, ..Size::UNBOUNDED },
            self.budget,
        ]
    }

    /// Whether a set may stay. Bit `e` of the mask says whether entry `e` is in it.
    pub(super) fn is_feasible(&self, budget: Size, mask: usize) -> bool {
        let entries = || (0..).zip(&self.entries).filter(|(at, _)| mask >> at & 1 == 1);
        let bytes: u64 = entries().map(|(_, entry)| entry.bytes).sum();
        (0..).zip(&self.entries).all(|(at, entry)| !entry.pinned || mask >> at & 1 == 1)
            && entries().count() as u64 <= budget.entries
            && bytes <= budget.bytes
    }

    /// The value of a set, by the definition and not by gains.
    pub(super) fn value(&self, mask: usize) -> f64 {
        let of_family = |family: u64| {
            let members =
                || (0..).zip(&self.entries).filter(move |(_, entry)| entry.family == family);
            let scale = members().map(|(_, entry)| entry.worth).fold(0.0, f64::max);
            let kept = members().filter(|(at, _)| mask >> at & 1 == 1);
            let kept: f64 = kept.map(|(_, entry)| entry.worth).sum();
            match self.curve {
                _ if scale == 0.0 => 0.0,
                Curve::SquareRoot => (scale * kept).sqrt(),
                Curve::Log1p => scale * (kept / scale).ln_1p(),
                Curve::Saturating { at } => kept.min(at * scale),
            }
        };
        let mut families: Vec<u64> = self.entries.iter().map(|entry| entry.family).collect();
        families.sort_unstable();
        families.dedup();
        families.into_iter().map(of_family).sum()
    }

    /// The values of all sets, by mask.
    pub(super) fn values(&self) -> Vec<f64> {
        (0..1_usize << self.entries.len()).map(|mask| self.value(mask)).collect()
    }

    /// The largest value of a feasible set. `None` where the pinned entries exceed the budget.
    pub(super) fn optimum(&self, values: &[f64], budget: Size) -> Option<f64> {
        let feasible = (0..).zip(values).filter(|&(mask, _)| self.is_feasible(budget, mask));
        feasible.map(|(_, &value)| value).reduce(f64::max)
    }

    /// The problem with the pinned entries chosen. `None` where they exceed the budget.
    pub(super) fn start(&self, budget: Size) -> Option<Start> {
        let mut problem = Problem::new(self.curve);
        problem.read(&self.entries).unwrap();
        let mut pinned = Selection::default();
        let mut candidates = Vec::new();
        pinned.start(&problem, budget).then(|| {
            pinned.list_candidates(&problem, &mut candidates);
            Start { problem, pinned, candidates }
        })
    }
}

/// What a solver starts from.
pub(super) struct Start {
    pub(super) problem: Problem,
    pub(super) pinned: Selection,
    pub(super) candidates: Vec<Candidate>,
}

/// What a solver chose.
#[derive(Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) entries: Vec<usize>,
    pub(super) value: f64,
    pub(super) size: Size,
}

impl Chosen {
    pub(super) fn mask(&self) -> usize {
        self.entries.iter().fold(0, |mask, entry| mask | 1 << entry)
    }
}

impl Start {
    /// What `solver` adds to the pinned entries.
    pub(super) fn choose(&mut self, solver: impl FnOnce(&mut Self, &mut Selection)) -> Chosen {
        let mut chosen = Selection::default();
        chosen.copy_from(&self.pinned);
        solver(self, &mut chosen);
        let mut entries = Vec::new();
        let (value, size) = chosen.finish(&self.problem, &mut entries);
        Chosen { entries, value, size }
    }
}
