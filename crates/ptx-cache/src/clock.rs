//! The cache's own time: insertions, and the ticks by which uses decay.

use std::time::Instant;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Counts insertions. Each half-life of them is a tick.
///
/// The wall clock is read on insertion only, for the age of entries in reports. It decides
/// nothing, so a clock that jumps does no harm.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    insertions: CachePadded<AtomicU64>,
    /// Read by every hit, written once a half-life.
    tick: CachePadded<AtomicU32>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            insertions: CachePadded::new(AtomicU64::new(0)),
            tick: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// Ticks so far. Wraps around.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Counts an insertion, and gives the tick that it falls in. `half_life` is in insertions.
    pub(crate) fn inserted(&self, half_life: u64) -> u32 {
        let before = self.insertions.fetch_add(1, Ordering::Relaxed);
        if before % half_life.max(1) == half_life.max(1) - 1 {
            self.tick.fetch_add(1, Ordering::Relaxed);
        }
        self.tick()
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX)
    }
}
