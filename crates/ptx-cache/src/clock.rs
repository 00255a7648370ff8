//! The cache's own time: insertions, and the ticks by which uses decay.

use std::time::Instant;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Ticks in which as many entries are inserted as are resident.
const TICKS_TO_A_TURNOVER: u64 = 8;

/// Counts insertions. Each half-life of them is a tick.
///
/// The wall clock is read on insertion only, for the age of entries in reports. It decides
/// nothing, so a clock that jumps does no harm.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    insertions: CachePadded<AtomicU64>,
    /// Insertions to a tick by what was resident at the last choice.
    period: AtomicU64,
    /// Read by every hit, written once a half-life.
    tick: CachePadded<AtomicU32>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            insertions: CachePadded::new(AtomicU64::new(0)),
            period: AtomicU64::new(u64::MAX),
            tick: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// Ticks so far. Wraps around.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Counts an insertion, and gives the tick that it falls in. `half_life` is the most insertions
    /// to a tick.
    pub(crate) fn inserted(&self, half_life: u64) -> u32 {
        let before = self.insertions.fetch_add(1, Ordering::Relaxed);
        let period = self.period.load(Ordering::Relaxed).min(half_life).max(1);
        if before % period == period - 1 {
            self.tick.fetch_add(1, Ordering::Relaxed);
        }
        self.tick()
    }

    /// Fits ticks to a full cache that holds `residents`: a budget of bytes does not say how many
    /// entries that is.
    pub(crate) fn fit(&self, residents: usize) {
        let period = (residents as u64 / TICKS_TO_A_TURNOVER).max(1);
        self.period.store(period, Ordering::Relaxed);
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX)
    }
}
