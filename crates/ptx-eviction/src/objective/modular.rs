use super::{Objective, check_weights};
use crate::Error;

/// The plain sum of the weights in a set: no element makes another worth less.
///
/// A gain costs O(1) and needs no state. Under a count alone, greedy is exact for it, and
/// [`lazy_greedy`](crate::lazy_greedy) selects in O(n).
#[derive(Debug, Clone, Copy)]
pub struct Modular<'a> {
    weights: &'a [f64],
}

impl<'a> Modular<'a> {
    /// `weights[e]` is what element `e` is worth.
    ///
    /// # Errors
    /// [`Error::Weight`] for a weight that is NaN, infinite or negative; [`Error::Overflow`] when their sum is
    /// infinite.
    pub fn new(weights: &'a [f64]) -> Result<Self, Error> {
        check_weights(weights)?;
        Ok(Self { weights })
    }
}

impl Objective for Modular<'_> {
    type State = ();

    #[inline]
    fn element_count(&self) -> usize {
        self.weights.len()
    }

    fn clear(&self, (): &mut ()) {}

    #[inline]
    fn gain(&self, (): &(), element: usize) -> f64 {
        self.weights[element]
    }

    #[inline]
    fn add(&self, (): &mut (), _element: usize) {}

    #[inline]
    fn is_modular(&self) -> bool {
        true
    }
}
