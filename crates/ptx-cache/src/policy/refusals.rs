//! How much more a newcomer must be worth than what would have to go for it: learned from what
//! became of earlier refusals.
//!
//! When a newcomer is refused for the sake of an incumbent, one of the two is asked for first from
//! then on. If it is the incumbent, the refusal was right, and the margin grows; if the newcomer is
//! back while nobody has asked for the incumbent, it was wrong, and the margin shrinks. In a loop that
//! is longer than the cache incumbents are always asked for in between. When a program goes over to
//! other kernels, they never are.

use std::collections::VecDeque;

/// Refusals whose outcome is awaited: few, so that what is learned is learned soon.
const MOST_AWAITED: usize = 5;
/// The margin before anything was learned. Gaps are known to a quarter: with less, equals in a loop
/// that is longer than the cache would take each other's place by turns.
const FIRST_MARGIN: f64 = 1.25;
const MARGINS: [f64; 2] = [0.125, 1.875];
/// What an outcome changes the margin by.
const STEP: f64 = 1.1;

/// See the module's page. `I` is an incumbent as it was when a newcomer was refused for it.
pub(crate) struct Refusals<I> {
    /// By the newcomer's hash, the latest last.
    awaited: VecDeque<(u64, I)>,
    margin: f64,
}

impl<I> Default for Refusals<I> {
    fn default() -> Self {
        Self { awaited: VecDeque::with_capacity(MOST_AWAITED), margin: FIRST_MARGIN }
    }
}

impl<I> Refusals<I> {
    /// Of two that are worth the same, the newcomer counts for this much less.
    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    /// Learns from the refusal of the newcomer of `hash`, which is back, if it is awaited.
    pub(crate) fn is_back(&mut self, hash: u64, was_used: impl FnOnce(&I) -> bool) {
        let place = self.awaited.iter().position(|(newcomer, _)| *newcomer == hash);
        if let Some((_, incumbent)) = place.and_then(|place| self.awaited.remove(place)) {
            self.learn(was_used(&incumbent));
        }
    }

    /// Notes that the newcomer of `hash` was refused for `incumbent`. The refusal that is awaited for
    /// longest is right by now if its incumbent was used, and teaches nothing if it was not.
    pub(crate) fn refused(&mut self, hash: u64, incumbent: I, was_used: impl FnOnce(&I) -> bool) {
        if self.awaited.len() >= MOST_AWAITED
            && let Some((_, incumbent)) = self.awaited.pop_front()
            && was_used(&incumbent)
        {
            self.learn(true);
        }
        self.awaited.push_back((hash, incumbent));
    }

    fn learn(&mut self, was_right: bool) {
        let [least, most] = MARGINS;
        let margin = if was_right { self.margin * STEP } else { self.margin / STEP };
        self.margin = margin.clamp(least, most);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
