//! When does a failing file system turn a part of the store off, and when is it tried again?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Passes operations until several failed in a row, then refuses them for a pause that doubles
/// with each further failure. After a pause one operation may try.
#[derive(Debug)]
pub(crate) struct Gate {
    /// False while all is well. A healthy store reads nothing else.
    troubled: AtomicBool,
    state: Mutex<State>,
    tolerated: u32,
    first_pause: Duration,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    closed_until: Option<Instant>,
    pause: Duration,
}

impl Gate {
    /// A gate that stays open for `tolerated` failures in a row.
    pub(crate) fn new(tolerated: u32, first_pause: Duration) -> Self {
        let state = Mutex::new(State::default());
        Self { troubled: AtomicBool::new(false), state, tolerated, first_pause }
    }

    /// Returns true if an operation may be tried at `now`.
    pub(crate) fn permits(&self, now: impl FnOnce() -> Instant) -> bool {
        if !self.troubled.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.closed_until {
            Some(until) => {
                let now = now();
                if now < until {
                    return false;
                }
                // The others wait for the result of this attempt.
                state.closed_until = now.checked_add(state.pause);
                true
            }
            None => true,
        }
    }

    /// Returns true if [`permits`](Self::permits) would. Asking does not use up the attempt after a
    /// pause.
    pub(crate) fn is_open(&self, now: impl FnOnce() -> Instant) -> bool {
        if !self.troubled.load(Ordering::Relaxed) {
            return true;
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed_until.is_none_or(|until| now() >= until)
    }

    /// An operation worked.
    pub(crate) fn succeeded(&self) {
        if self.troubled.load(Ordering::Relaxed) {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            *state = State::default();
            self.troubled.store(false, Ordering::Relaxed);
        }
    }

    /// An operation failed at `now`. Returns true if that closed an open gate.
    pub(crate) fn failed(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.troubled.store(true, Ordering::Relaxed);
        state.failures = state.failures.saturating_add(1);
        if state.failures <= self.tolerated {
            return false;
        }
        let newly = state.closed_until.is_none();
        state.pause = if newly { self.first_pause } else { state.pause.saturating_mul(2) };
        state.pause = state.pause.min(LONGEST_PAUSE.max(self.first_pause));
        state.closed_until = now.checked_add(state.pause);
        newly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    #[test]
    fn failures_in_a_row_close_it_and_one_success_opens_it() {
        let (gate, start) = (Gate::new(2, PAUSE), Instant::now());
        assert!(!gate.failed(start));
        assert!(!gate.failed(start));
        gate.succeeded();
        assert!(!gate.failed(start) && !gate.failed(start), "a success starts the count anew");
        assert!(gate.permits(|| start));
        assert!(gate.failed(start), "the one that closes it says so");
        assert!(!gate.permits(|| start));
        gate.succeeded();
        assert!(gate.permits(|| start));
    }

    #[test]
    fn the_pause_doubles_up_to_its_longest() {
        let (gate, mut now) = (Gate::new(0, PAUSE), Instant::now());
        assert!(gate.failed(now));
        for doubled in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let pause = Duration::from_secs(doubled);
            assert!(!gate.permits(|| now + pause.mul_f64(0.999)));
            now += pause;
            assert!(gate.permits(|| now));
            assert!(!gate.failed(now), "it was closed before");
        }
    }

    #[test]
    fn after_a_pause_one_tries_and_the_others_wait() {
        let (gate, start) = (Gate::new(0, PAUSE), Instant::now());
        gate.failed(start);
        assert!(gate.permits(|| start + PAUSE));
        assert!(!gate.permits(|| start + PAUSE));
        assert!(gate.permits(|| start + PAUSE * 2), "one that never came back is replaced");
    }

    #[test]
    fn a_healthy_gate_does_not_look_at_the_clock() {
        let gate = Gate::new(0, PAUSE);
        assert!(gate.permits(|| unreachable!()));
    }
}
