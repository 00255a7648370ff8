//! One pass: elements arrive one by one and are kept or let go at once.

use std::collections::VecDeque;

use crate::Error;
use crate::constraint::as_u64;
use crate::knapsack::as_f64;
use crate::objective::{Objective, checked_gain, evaluate};
use crate::scratch::Selection;

/// The smallest `epsilon` that [`SieveStreaming`] accepts: below, the number of sieves explodes.
const SMALLEST_EPSILON: f64 = 1e-3;

/// Keeps at most `count` elements of a stream, seeing each once (`SIEVE-STREAMING`; Badanidiyuru, Mirzasoleiman,
/// Karbasi and Krause, *Streaming submodular maximization: massive data summarization on the fly*, KDD 2014,
/// algorithm 3).
///
/// If the optimum were known, it would do to keep each element that brings its share of half of it. So one
/// selection, a sieve, is kept for each guess of the optimum: the powers of `1 + ε` between the largest single
/// gain `m` seen so far and `2·count·m`. As `m` rises, low guesses are dropped and high ones opened; an opened
/// sieve has missed nothing, as no earlier element would have passed it.
///
/// Takes a count only. The same elements in the same order give the same set.
///
/// # Guarantee
/// At least `1/2 − ε` of the optimum over the elements offered (the theorem on SIEVE-STREAMING in section 5
/// there), at every moment of the stream.
///
/// # Complexity
/// `O(log(count)/ε)` gains for each element and that many sieves of at most `count` elements, whatever the
/// length of the stream. Memory of dropped sieves is used again.
///
/// ```
/// use ptx_eviction::{Modular, SieveStreaming};
///
/// let weights = [5.0, 1.0, 4.0, 3.0];
/// let objective = Modular::new(&weights)?;
/// let mut sieve = SieveStreaming::new(&objective, 2, 0.1)?;
/// for element in 0..4 {
///     sieve.offer(element)?;
/// }
/// assert!(sieve.selection()?.value >= (0.5 - 0.1) * 9.0);
/// # Ok::<(), ptx_eviction::Error>(())
/// ```
#[derive(Debug)]
pub struct SieveStreaming<'o, O: Objective> {
    objective: &'o O,
    count: usize,
    /// `ln(1 + ε)`: guesses are `exp(exponent · step)`.
    step: f64,
    /// `ln(2·count)`.
    span: f64,
    largest_gain: f64,
    /// Guesses of consecutive exponents, ascending.
    sieves: VecDeque<Sieve<O::State>>,
    dropped: Vec<Sieve<O::State>>,
    empty: O::State,
    valued: O::State,
    kept: Vec<usize>,
}

/// The selection under one guess of the optimum.
#[derive(Debug, Default)]
struct Sieve<S> {
    exponent: i32,
    guess: f64,
    value: f64,
    chosen: Vec<usize>,
    state: S,
}

impl<'o, O: Objective> SieveStreaming<'o, O> {
    /// Starts an empty stream.
    ///
    /// # Errors
    /// [`Error::Parameter`] when `epsilon` is below 0.001 or not below 1/2.
    pub fn new(objective: &'o O, count: usize, epsilon: f64) -> Result<Self, Error> {
        if !(SMALLEST_EPSILON..0.5).contains(&epsilon) {
            return Err(Error::Parameter {
                name: "epsilon",
                value: epsilon,
                range: "at least 0.001 and below 0.5",
            });
        }
        let mut empty = O::State::default();
        objective.clear(&mut empty);
        Ok(Self {
            objective,
            count,
            step: epsilon.ln_1p(),
            span: (2.0 * as_f64(as_u64(count))).max(1.0).ln(),
            largest_gain: 0.0,
            sieves: VecDeque::new(),
            dropped: Vec::new(),
            empty,
            valued: O::State::default(),
            kept: Vec::new(),
        })
    }

    /// Forgets the stream and keeps the memory.
    pub fn reset(&mut self) {
        self.largest_gain = 0.0;
        self.dropped.extend(self.sieves.drain(..));
    }

    /// Sees the next element. One that is offered again after a sieve kept it changes nothing in that sieve.
    ///
    /// # Errors
    /// [`Error::Element`] for an index outside the ground set, [`Error::Gain`] for a gain that is not finite or
    /// is negative. The stream stays usable without that element.
    pub fn offer(&mut self, element: usize) -> Result<(), Error> {
        let count = self.objective.element_count();
        if element >= count {
            return Err(Error::Element { element, count });
        }
        if self.count == 0 {
            return Ok(());
        }
        let alone = checked_gain(self.objective, &self.empty, element)?;
        if alone > self.largest_gain {
            self.largest_gain = alone;
            self.move_guesses();
        }
        for sieve in &mut self.sieves {
            let slots = self.count.saturating_sub(sieve.chosen.len());
            if slots == 0 {
                continue;
            }
            let share = (sieve.guess / 2.0 - sieve.value) / as_f64(as_u64(slots));
            // No gain is larger than the first, so most sieves are passed over without asking for one.
            if alone < share || sieve.chosen.contains(&element) {
                continue;
            }
            let gain = checked_gain(self.objective, &sieve.state, element)?;
            if gain >= share {
                self.objective.add(&mut sieve.state, element);
                sieve.value += gain;
                sieve.chosen.push(element);
            }
        }
        Ok(())
    }

    /// The best selection so far. More elements may be offered afterwards.
    ///
    /// # Errors
    /// [`Error::Overflow`] when the value leaves the range of `f64`.
    pub fn selection(&mut self) -> Result<Selection<'_>, Error> {
        let best = self
            .sieves
            .iter()
            .reduce(|best, sieve| if sieve.value > best.value { sieve } else { best });
        self.kept.clear();
        self.kept.extend(best.iter().flat_map(|sieve| sieve.chosen.iter().copied()));
        self.kept.sort_unstable();
        let value = evaluate(self.objective, &self.kept, &mut self.valued)?;
        Ok(Selection { elements: &self.kept, value, bytes: 0 })
    }

    /// Drops guesses below the largest single gain and opens those up to `2·count` times it. One more on
    /// either side than the paper asks for, so that rounding in the logarithms cannot lose one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "logarithms of finite floats are below 800 and the step is at least 0.0009"
    )]
    fn move_guesses(&mut self) {
        let logarithm = self.largest_gain.ln();
        let lowest = (logarithm / self.step).floor() as i32;
        let highest = ((logarithm + self.span) / self.step).ceil() as i32;
        while self.sieves.front().is_some_and(|sieve| sieve.exponent < lowest) {
            self.dropped.extend(self.sieves.pop_front());
        }
        let first_new = self.sieves.back().map_or(lowest, |last| last.exponent + 1);
        for exponent in first_new..=highest {
            let mut sieve = self.dropped.pop().unwrap_or_default();
            sieve.exponent = exponent;
            sieve.guess = (f64::from(exponent) * self.step).exp();
            sieve.value = 0.0;
            sieve.chosen.clear();
            self.objective.clear(&mut sieve.state);
            self.sieves.push_back(sieve);
        }
    }
}
