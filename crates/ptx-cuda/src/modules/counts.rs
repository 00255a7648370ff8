//! What a cache of modules has, and counts of what it did.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ptx_cache::{Size, Snapshot};

/// What a cache of modules has and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleSnapshot {
    /// Size modules and requests. A remembered refusal counts as an entry.
    pub memory: Snapshot,
    /// Retired modules that wait to be unloaded. The budget does not cover their bytes.
    pub retired: Size,
    /// Loads, by where the machine code came from.
    pub cubins: CubinSnapshot,
}

/// What a cache of modules did with machine code. Times are sums over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CubinSnapshot {
    /// Modules that were loaded from a stored cubin.
    pub hits: u64,
    /// Their time: reading the store, and the driver's load.
    pub hit_time: Duration,
    /// Texts that were assembled.
    pub assembled: u64,
    /// Their time: the assembly, and the driver's load of the cubin.
    pub assembly_time: Duration,
    /// Modules that were loaded as given: a caller's cubin, or a text of which no cubin could be
    /// made.
    pub given: u64,
    /// Their time.
    pub given_time: Duration,
    /// Stored or new cubins that the driver refused.
    pub refused: u64,
    /// Loaded modules whose text is of an instruction set that the driver does not know: `ptxas`
    /// assembled it, or it was lowered again.
    pub rescued: u64,
    /// Cubins that the store took without an error. A store that is off or read-only skips them.
    pub written: u64,
    /// Requests to the store that failed.
    pub store_failures: u64,
}

/// A count with its time.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Timed {
    // Relaxed: the counts publish nothing else.
    pub(crate) fn add(&self, took: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, Duration) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_nanos(nanos))
    }
}

/// The counts of one cache's loads.
#[derive(Debug, Default)]
pub(crate) struct LoadCounts {
    pub(crate) hits: Timed,
    pub(crate) assembled: Timed,
    pub(crate) given: Timed,
    pub(crate) refused: AtomicU64,
    pub(crate) rescued: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) store_failures: AtomicU64,
    warned: AtomicBool,
}

impl LoadCounts {
    pub(crate) fn snapshot(&self) -> CubinSnapshot {
        let ((hits, hit_time), (assembled, assembly_time), (given, given_time)) =
            (self.hits.get(), self.assembled.get(), self.given.get());
        CubinSnapshot {
            hits,
            hit_time,
            assembled,
            assembly_time,
            given,
            given_time,
            refused: self.refused.load(Ordering::Relaxed),
            rescued: self.rescued.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            store_failures: self.store_failures.load(Ordering::Relaxed),
        }
    }

    /// Sets all counts to zero.
    pub(crate) fn clear(&self) {
        let Self { hits, assembled, given, refused, rescued, written, store_failures, warned: _ } =
            self;
        let timed = [hits, assembled, given].into_iter().flat_map(|timed| {
            let Timed { count, nanos } = timed;
            [count, nanos]
        });
        for count in timed.chain([refused, rescued, written, store_failures]) {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Warns of the first trouble with the store. The counts tell of the others.
    pub(crate) fn warn(&self, trouble: impl fmt::Display) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("modules are loaded without the store of cubins: {trouble}");
        }
    }
}
