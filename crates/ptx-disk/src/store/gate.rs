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
mod tests;
