//! Random small problems, and their true optimum by trying every subset.

use proptest::prelude::*;
use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, Error, FacilityLocation, Modular, Objective, WeightedSum,
};

/// At most this many elements, so that every subset can be tried.
pub(crate) const LARGEST: usize = 14;

#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) weights: Vec<f64>,
    families: Vec<u32>,
    curve: Curve,
    scales: Option<Vec<f64>>,
    similarity: Vec<[f64; 3]>,
    factors: [f64; 3],
    pub(crate) sizes: Vec<u64>,
    pub(crate) groups: Vec<u32>,
    pub(crate) count: usize,
    pub(crate) bytes: u64,
    pub(crate) most: usize,
    pub(crate) pinned: Vec<usize>,
}

/// Few distinct values, so that ties are common, and some that are not round.
fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0_u8..5).prop_map(f64::from),
        2 => 0.0..10.0_f64,
        1 => Just(0.1),
        1 => Just(1e-9),
        1 => Just(1e9),
    ]
}

fn factor() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 2 => Just(1.0), 1 => 0.0..3.0_f64]
}

fn curve() -> impl Strategy<Value = Curve> {
    prop_oneof![
        Just(Curve::SquareRoot),
        Just(Curve::Log1p),
        (0.0..4.0_f64).prop_map(|at| Curve::Saturating { at }),
    ]
}

prop_compose! {
    pub(crate) fn instance()(
        n in 1..=LARGEST,
    )(
        weights in prop::collection::vec(weight(), n),
        families in prop::collection::vec(0..u32::try_from(n.min(5)).unwrap(), n),
        curve in curve(),
        scales in prop::option::of(prop::collection::vec(weight(), n)),
        similarity in prop::collection::vec([weight(), weight(), weight()], n),
        factors in [factor(), factor(), factor()],
        sizes in prop::collection::vec(prop_oneof![0_u64..8, 0_u64..40], n),
        groups in prop::collection::vec(0..u32::try_from(n.min(4)).unwrap(), n),
        count in 0..=n,
        bytes in 0_u64..80,
        most in 0_usize..4,
        pinned in prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(0..n, 0..3)],
    ) -> Instance {
        Instance {
            weights, families, curve, scales, similarity, factors, sizes, groups, count, bytes, most, pinned,
        }
    }
}

impl Instance {
    /// Every kind of objective at once; a factor of zero takes one out.
    pub(crate) fn objective(&self) -> impl Objective<State: Clone> + '_ {
        let modular = Modular::new(&self.weights).unwrap();
        let concave = ConcaveOverGroups::new(&self.weights, &self.families, self.curve).unwrap();
        let concave = match &self.scales {
            Some(scales) => concave.with_scales(scales).unwrap(),
            None => concave,
        };
        let facility = FacilityLocation::new(self.weights.len(), 3, |element, client| {
            self.similarity[element][client]
        });
        let [first, second, third] = self.factors;
        let pair = WeightedSum::new((first, modular), (second, concave)).unwrap();
        WeightedSum::new((1.0, pair), (third, facility)).unwrap()
    }

    pub(crate) fn pinned_to(&self) -> Constraint<'_> {
        Constraint::new().pinned(&self.pinned)
    }

    /// The constraints to try, with what each one means said independently of the crate.
    pub(crate) fn feasible(&self, limits: Limits, mask: usize) -> bool {
        let elements = || (0..self.weights.len()).filter(|element| mask >> element & 1 == 1);
        let bytes: u64 = elements().map(|element| self.sizes[element]).sum();
        let groups_hold = (0..4).all(|group| {
            elements().filter(|&element| self.groups[element] == group).count() <= self.most
        });
        self.pinned.iter().all(|element| mask >> element & 1 == 1)
            && (!limits.count || elements().count() <= self.count)
            && (!limits.bytes || bytes <= self.bytes)
            && (!limits.groups || groups_hold)
    }

    pub(crate) fn constraint(&self, limits: Limits) -> Constraint<'_> {
        let mut constraint = self.pinned_to();
        if limits.count {
            constraint = constraint.at_most(self.count);
        }
        if limits.bytes {
            constraint = constraint.within_bytes(&self.sizes, self.bytes);
        }
        if limits.groups {
            constraint = constraint.at_most_per_group(&self.groups, self.most);
        }
        constraint
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) count: bool,
    pub(crate) bytes: bool,
    pub(crate) groups: bool,
}

impl Limits {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..8).map(|bits| Self {
            count: bits & 1 == 1,
            bytes: bits & 2 == 2,
            groups: bits & 4 == 4,
        })
    }
}

/// The value of every subset; bit `e` of the index says whether element `e` is in it.
pub(crate) fn values<O: Objective>(objective: &O) -> Vec<f64> {
    let mut empty = O::State::default();
    objective.clear(&mut empty);
    let mut known = vec![(0.0, empty)];
    for element in 0..objective.element_count() {
        for mask in 0..known.len() {
            let (value, mut state) = known[mask].clone();
            let value = value + objective.gain(&state, element);
            objective.add(&mut state, element);
            known.push((value, state));
        }
    }
    known.into_iter().map(|(value, _)| value).collect()
}

/// The largest value among feasible subsets; `None` where none is feasible.
pub(crate) fn optimum(values: &[f64], feasible: impl Fn(usize) -> bool) -> Option<f64> {
    values
        .iter()
        .enumerate()
        .filter(|&(mask, _)| feasible(mask))
        .map(|(_, &value)| value)
        .reduce(f64::max)
}

pub(crate) fn mask(elements: &[usize]) -> usize {
    elements.iter().fold(0, |mask, element| mask | 1 << element)
}

/// What a solver must say where no set is feasible.
pub(crate) fn is_pinned_over_budget<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::PinnedOverBudget { .. }))
}
