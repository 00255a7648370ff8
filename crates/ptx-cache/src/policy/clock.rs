//! The cache's own time: insertions, and the ticks by which uses are told apart.

use std::time::Instant;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Ticks to a turnover: the time in which as many entries are inserted as are resident. Each entry
/// in use is written once a tick, so more of them would be seen by hits; fewer tell bursts from
/// intervals less well.
pub(crate) const TICKS_TO_A_TURNOVER: u32 = 16;

/// Counts insertions, and ticks.
///
/// The wall clock is read on insertion only, for the age of entries in reports. It decides
/// nothing, so a clock that jumps does no harm.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    since_tick: CachePadded<AtomicU64>,
    /// Read by every hit, written once a tick.
    tick: CachePadded<AtomicU32>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            since_tick: CachePadded::new(AtomicU64::new(0)),
            tick: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// Ticks so far. Wraps around.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Counts an insertion beside `residents` entries, and gives the tick that it falls in.
    pub(crate) fn inserted(&self, residents: u64) -> u32 {
        let period = (residents / u64::from(TICKS_TO_A_TURNOVER)).max(1);
        let since = self.since_tick.fetch_add(1, Ordering::Relaxed) + 1;
        // Of several that see the tick's end, the one that takes the count starts the next.
        if since >= period && self.since_tick.swap(0, Ordering::Relaxed) >= period {
            self.tick.fetch_add(1, Ordering::Relaxed);
        }
        self.tick()
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX)
    }
}
