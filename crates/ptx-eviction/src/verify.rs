//! A checker for people who write their own objective.

use std::fmt;

use crate::objective::Objective;
use crate::random::SplitMix64;

/// How hard [`verify_submodular`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Triples of a smaller set, a larger set and an element to try.
    pub trials: usize,
    /// The largest set drawn. Faults that show only in larger sets are not found.
    pub largest_set: usize,
    /// Decides what is drawn.
    pub seed: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { trials: 4_096, largest_set: 24, seed: 0 }
    }
}

/// A violation of the contract of [`Objective`], with the sets that show it. The message prints them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A gain is negative, infinite or NaN.
    #[error("not monotone: adding {element} to {set} gains {gain}")]
    NotMonotone {
        /// The set added to.
        set: ElementSet,
        /// The element added.
        element: usize,
        /// The gain that the objective returned.
        gain: f64,
    },
    /// An element gains more over a larger set.
    #[error(
        "returns do not diminish: adding {element} to {smaller} gains {gain_over_smaller}, \
         but to {larger} it gains {gain_over_larger}"
    )]
    NotDiminishing {
        /// A set.
        smaller: ElementSet,
        /// A set that contains it.
        larger: ElementSet,
        /// The element added to both.
        element: usize,
        /// Its gain over the smaller set.
        gain_over_smaller: f64,
        /// Its gain over the larger set.
        gain_over_larger: f64,
    },
    /// Adding the same elements in another order gives another value: no function of sets does that.
    #[error(
        "order matters: the gains of {set} add up to {ascending} in ascending order and to {descending} in descending order"
    )]
    OrderMatters {
        /// The set.
        set: ElementSet,
        /// The sum of gains in ascending order.
        ascending: f64,
        /// The sum of gains in descending order.
        descending: f64,
    },
    /// `clear` leaves something of an earlier selection behind.
    #[error(
        "clear is incomplete: the gains of {set} add up to {fresh} from a new state and to {reused} from a cleared one"
    )]
    NotCleared {
        /// The set.
        set: ElementSet,
        /// The sum of gains from a new state.
        fresh: f64,
        /// The sum of gains from a state that was used and cleared.
        reused: f64,
    },
}

/// Elements in ascending order. Prints as `{0, 2, 5}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementSet(pub Vec<usize>);

impl fmt::Display for ElementSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(&self.0).finish()
    }
}

/// Looks for a violation of the contract of [`Objective`] in random sets `A ⊆ B` and elements outside `B`, and
/// takes elements out of the sets that show one as long as they still do.
///
/// Differences within a billionth of the values involved count as rounding. Finding nothing proves nothing;
/// over a dozen elements or fewer the default sample sees most pairs that matter.
///
/// A trial costs about five times `largest_set` gains and additions.
///
/// ```
/// use ptx_eviction::{Modular, Objective, Sample, verify_submodular};
///
/// /// Worth the square of its size: returns grow.
/// struct Squared;
///
/// impl Objective for Squared {
///     type State = u32;
///     fn element_count(&self) -> usize { 6 }
///     fn clear(&self, size: &mut u32) { *size = 0; }
///     fn gain(&self, size: &u32, _element: usize) -> f64 { f64::from(2 * size + 1) }
///     fn add(&self, size: &mut u32, _element: usize) { *size += 1; }
/// }
///
/// let violation = verify_submodular(&Squared, Sample::default()).unwrap_err();
/// assert!(violation.to_string().starts_with("returns do not diminish: adding "));
///
/// let weights = [3.0, 1.0, 2.0];
/// assert!(verify_submodular(&Modular::new(&weights)?, Sample::default()).is_ok());
/// # Ok::<(), ptx_eviction::Error>(())
/// ```
///
/// # Errors
/// The first [`Violation`] found.
pub fn verify_submodular<O: Objective>(objective: &O, sample: Sample) -> Result<(), Violation> {
    let count = objective.element_count();
    let mut checker = Checker { objective, reused: O::State::default() };
    let mut random = SplitMix64::new(sample.seed);
    let mut deck: Vec<usize> = (0..count).collect();
    if count == 0 {
        return Ok(());
    }
    for _ in 0..sample.trials {
        let larger_size = random.below(count.min(sample.largest_set.saturating_add(1)));
        let smaller_size = random.below(larger_size + 1);
        for position in 0..=larger_size {
            let drawn = position + random.below(count - position);
            deck.swap(position, drawn);
        }
        let element = deck[larger_size];
        if let Some(violation) =
            checker.violation(&deck[..smaller_size], &deck[smaller_size..larger_size], element)
        {
            return Err(violation);
        }
    }
    Ok(())
}

struct Checker<'o, O: Objective> {
    objective: &'o O,
    /// Never made anew, so that an incomplete `clear` shows.
    reused: O::State,
}

impl<O: Objective> Checker<'_, O> {
    /// What is wrong with `smaller`, `smaller ∪ extra` and `element`, in the smallest sets that removing single
    /// elements leads to.
    fn violation(
        &mut self,
        smaller: &[usize],
        extra: &[usize],
        element: usize,
    ) -> Option<Violation> {
        let mut found = self.check(smaller, extra, element)?;
        let (mut smaller, mut extra) = (smaller.to_vec(), extra.to_vec());
        // A candidate removal is from either part; after a success the same position holds another element.
        for part in [true, false] {
            let mut position = 0;
            loop {
                let (mut fewer, mut fewer_extra) = (smaller.clone(), extra.clone());
                let shrunk = if part { &mut fewer_extra } else { &mut fewer };
                if position >= shrunk.len() {
                    break;
                }
                shrunk.remove(position);
                match self.check(&fewer, &fewer_extra, element) {
                    Some(still) => {
                        found = still;
                        (smaller, extra) = (fewer, fewer_extra);
                    }
                    None => position += 1,
                }
            }
        }
        Some(found)
    }

    fn check(&mut self, smaller: &[usize], extra: &[usize], element: usize) -> Option<Violation> {
        let smaller = sorted(smaller.iter().copied());
        let larger = sorted(smaller.0.iter().chain(extra).copied());
        let all = sorted(larger.0.iter().copied().chain([element]));

        let (_, gain_over_smaller) = match self.value_and_gain(&smaller, element) {
            Ok(found) => found,
            Err(violation) => return Some(violation),
        };
        let (value, gain_over_larger) = match self.value_and_gain(&larger, element) {
            Ok(found) => found,
            Err(violation) => return Some(violation),
        };
        if exceeds(gain_over_larger, gain_over_smaller, value + gain_over_smaller) {
            return Some(Violation::NotDiminishing {
                smaller,
                larger,
                element,
                gain_over_smaller,
                gain_over_larger,
            });
        }

        let mut fresh_state = O::State::default();
        let fresh = self.sum(&mut fresh_state, all.0.iter().copied());
        let mut state = std::mem::take(&mut self.reused);
        let reused = self.sum(&mut state, all.0.iter().copied());
        let descending = self.sum(&mut state, all.0.iter().rev().copied());
        self.reused = state;
        if differ(fresh, reused) {
            return Some(Violation::NotCleared { set: all, fresh, reused });
        }
        differ(reused, descending).then_some(Violation::OrderMatters {
            set: all,
            ascending: reused,
            descending,
        })
    }

    /// The value of `set` and the gain of `element` over it, or the first gain on the way that is not one.
    fn value_and_gain(&self, set: &ElementSet, element: usize) -> Result<(f64, f64), Violation> {
        let mut state = O::State::default();
        self.objective.clear(&mut state);
        let mut value = 0.0;
        let mut last = 0.0;
        for (added, &next) in set.0.iter().chain([&element]).enumerate() {
            let gain = self.objective.gain(&state, next);
            if !(0.0..f64::INFINITY).contains(&gain) {
                return Err(Violation::NotMonotone {
                    set: ElementSet(set.0[..added].to_vec()),
                    element: next,
                    gain,
                });
            }
            value += last;
            last = gain;
            if added < set.0.len() {
                self.objective.add(&mut state, next);
            }
        }
        Ok((value, last))
    }

    fn sum(&self, state: &mut O::State, elements: impl Iterator<Item = usize>) -> f64 {
        self.objective.clear(state);
        let mut sum = 0.0;
        for element in elements {
            sum += self.objective.gain(state, element);
            self.objective.add(state, element);
        }
        sum
    }
}

fn sorted(elements: impl Iterator<Item = usize>) -> ElementSet {
    let mut elements: Vec<usize> = elements.collect();
    elements.sort_unstable();
    ElementSet(elements)
}

/// Differences within this share of the values involved are rounding.
const TOLERANCE: f64 = 1e-9;

fn exceeds(left: f64, right: f64, magnitude: f64) -> bool {
    left - right > TOLERANCE * magnitude
}

fn differ(left: f64, right: f64) -> bool {
    let magnitude = left.abs().max(right.abs());
    exceeds(left, right, magnitude) || exceeds(right, left, magnitude)
}

#[cfg(test)]
mod tests;
