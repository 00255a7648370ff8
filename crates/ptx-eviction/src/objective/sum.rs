use super::Objective;
use crate::Error;

/// `a·f(S) + b·g(S)` over the same elements. Monotone submodular because `a` and `b` are not negative; nest it
/// for more than two.
#[derive(Debug, Clone, Copy)]
pub struct WeightedSum<A, B> {
    first: (f64, A),
    second: (f64, B),
}

impl<A: Objective, B: Objective> WeightedSum<A, B> {
    /// Two objectives, each with its factor.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is NaN, infinite or negative; [`Error::Length`] when the two
    /// ground sets differ in size.
    pub fn new(first: (f64, A), second: (f64, B)) -> Result<Self, Error> {
        for value in [first.0, second.0] {
            if !(0.0..f64::INFINITY).contains(&value) {
                return Err(Error::Parameter {
                    name: "factor of a weighted sum",
                    value,
                    range: "finite and not negative",
                });
            }
        }
        if first.1.element_count() != second.1.element_count() {
            return Err(Error::Length {
                what: "the second objective",
                found: second.1.element_count(),
                expected: first.1.element_count(),
            });
        }
        Ok(Self { first, second })
    }
}

/// The states of both objectives: the state of [`WeightedSum`].
#[derive(Debug, Default)]
pub struct SumState<A, B> {
    first: A,
    second: B,
}

impl<A: Clone, B: Clone> Clone for SumState<A, B> {
    fn clone(&self) -> Self {
        Self { first: self.first.clone(), second: self.second.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.first.clone_from(&source.first);
        self.second.clone_from(&source.second);
    }
}

impl<A: Objective, B: Objective> Objective for WeightedSum<A, B> {
    type State = SumState<A::State, B::State>;

    #[inline]
    fn element_count(&self) -> usize {
        self.first.1.element_count()
    }

    fn clear(&self, state: &mut Self::State) {
        self.first.1.clear(&mut state.first);
        self.second.1.clear(&mut state.second);
    }

    #[inline]
    fn gain(&self, state: &Self::State, element: usize) -> f64 {
        self.first.0 * self.first.1.gain(&state.first, element)
            + self.second.0 * self.second.1.gain(&state.second, element)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, element: usize) {
        self.first.1.add(&mut state.first, element);
        self.second.1.add(&mut state.second, element);
    }

    #[inline]
    fn is_modular(&self) -> bool {
        self.first.1.is_modular() && self.second.1.is_modular()
    }
}
