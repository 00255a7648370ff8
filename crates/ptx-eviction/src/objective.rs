//! What a set of elements is worth, told by marginal gains.

mod concave;
mod facility;
mod modular;
mod sum;

#[cfg(test)]
mod tests;

pub(crate) use concave::dense_group_count;
pub use concave::{ConcaveOverGroups, Curve, GroupMass};
pub use facility::{BestSimilarity, FacilityLocation};
pub use modular::Modular;
pub use sum::{SumState, WeightedSum};

use crate::Error;

/// A monotone submodular set function `f` over the elements `0..element_count()`, with `f(∅) = 0`.
///
/// A solver never asks for `f(S)`. It grows one set element by element and asks what one more would add, so an
/// objective keeps in [`State`](Objective::State) whatever makes that cheap: the mass of each group, the best
/// similarity of each client. The state belongs to the solver's scratch and is reused from run to run.
///
/// # Contract
/// For all sets `A ⊆ B` and every element `e` outside `B`:
/// * monotone: the gain of `e` over `A` is finite and not negative;
/// * submodular: the gain of `e` over `A` is at least its gain over `B`;
/// * a function of sets: what was added counts, the order in which it was added does not (beyond rounding).
///
/// A gain that breaks the first rule is [`Error::Gain`]. The others cannot be seen during a run: a solver then
/// still returns a set within every budget, without its guarantee. [`verify_submodular`](crate::verify_submodular)
/// looks for violations.
///
/// Lazy evaluation trusts that computed gains never grow, not even by rounding. An objective that computes a
/// gain directly keeps that easily; one that subtracts two large values does not, and may be given another set
/// by lazy greedy than by plain greedy where two gains differ by rounding alone.
///
/// # Panics
/// `gain` and `add` may panic when `element` is out of range, is in the set already, or when the state was not
/// cleared for this objective first. Solvers do none of these.
pub trait Objective {
    /// What a solver carries along with a partial selection.
    ///
    /// Solvers copy it with `clone_from`. Implement that method by hand (a derived `Clone` does not) where the
    /// state holds a `Vec`, so that a copy reuses the memory that is there.
    type State: Default + Clone;

    /// The number of elements; indices run from 0 to one less.
    fn element_count(&self) -> usize;

    /// Makes `state` that of the empty selection, whatever it held before, and keeps its memory.
    fn clear(&self, state: &mut Self::State);

    /// What adding `element` to the selection behind `state` would add to its value.
    fn gain(&self, state: &Self::State, element: usize) -> f64;

    /// Adds `element` to the selection behind `state`.
    fn add(&self, state: &mut Self::State, element: usize);

    /// Whether no gain ever depends on the selection. Solvers then select instead of searching.
    fn is_modular(&self) -> bool {
        false
    }
}

/// The value of a set: the sum of gains as its elements are added in the order given, each listed once.
///
/// `state` is scratch; what it held is lost.
///
/// # Errors
/// [`Error::Element`] for an index outside the ground set, [`Error::Gain`] for a gain that is not finite or is
/// negative, [`Error::Overflow`] when the sum leaves the range of `f64`.
pub fn evaluate<O: Objective>(
    objective: &O,
    elements: &[usize],
    state: &mut O::State,
) -> Result<f64, Error> {
    let count = objective.element_count();
    objective.clear(state);
    let mut value = 0.0;
    for &element in elements {
        if element >= count {
            return Err(Error::Element { element, count });
        }
        value += checked_gain(objective, state, element)?;
        objective.add(state, element);
    }
    checked_value(value)
}

/// A gain that keeps the contract, with negative zero made positive so that equal gains compare equal.
pub(crate) fn checked_gain<O: Objective>(
    objective: &O,
    state: &O::State,
    element: usize,
) -> Result<f64, Error> {
    let gain = objective.gain(state, element);
    if (0.0..f64::INFINITY).contains(&gain) {
        Ok(gain + 0.0)
    } else {
        Err(Error::Gain { element, gain })
    }
}

pub(crate) fn checked_value(value: f64) -> Result<f64, Error> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Error::Overflow { what: "the value of the set" })
    }
}

/// Refuses weights that are not finite, are negative, or whose total overflows.
fn check_weights(weights: &[f64]) -> Result<(), Error> {
    let mut total = 0.0;
    for (element, &weight) in weights.iter().enumerate() {
        if !(0.0..f64::INFINITY).contains(&weight) {
            return Err(Error::Weight { element, weight });
        }
        total += weight;
    }
    if total.is_finite() { Ok(()) } else { Err(Error::Overflow { what: "the sum of the weights" }) }
}
