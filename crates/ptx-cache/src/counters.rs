//! Counters: lookups by thread, all else by event.

use std::time::Duration;

use thread_local::ThreadLocal;

use ptx_store::Size;

use crate::snapshot::Snapshot;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// Counts that only their own thread writes, so that counting is a plain load and store on a line
/// that no other core writes. Exact in sum.
///
/// `thread_local` gives a thread's place to a later thread once the first has ended, with what it
/// counted, so nothing is lost and short-lived threads do not pile up.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    threads: ThreadLocal<ThreadLookups>,
    /// The sums at the last clear. A thread's own counts only grow: setting one to zero from
    /// another thread could be undone by the store that its own thread is about to make.
    cleared: Mutex<Sums>,
}

/// Sums over all threads. They saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// What making the values that were hit had cost, in microseconds.
    pub(crate) saved_micros: u64,
}

/// One thread's counts. Only that thread may count in them.
#[derive(Debug, Default)]
pub(crate) struct ThreadLookups {
    hits: AtomicU64,
    misses: AtomicU64,
    saved_micros: AtomicU64,
    /// Keeps the counts of two threads off one line: with the word that `thread_local` adds, 128
    /// bytes. An alignment would do it too, but then the path that makes a thread's first counts
    /// would align the stack of every hit.
    _apart: [u64; 12],
}

impl Lookups {
    /// The calling thread's own counts.
    #[inline]
    pub(crate) fn of_thread(&self) -> &ThreadLookups {
        self.threads.get_or_default()
    }

    /// Sums since the last clear. What is counted at the same time may be missing.
    pub(crate) fn sums(&self) -> Sums {
        let cleared = *lock(&self.cleared);
        let totals = self.totals();
        Sums {
            hits: totals.hits.saturating_sub(cleared.hits),
            misses: totals.misses.saturating_sub(cleared.misses),
            saved_micros: totals.saved_micros.saturating_sub(cleared.saved_micros),
        }
    }

    pub(crate) fn clear(&self) {
        let mut cleared = lock(&self.cleared);
        *cleared = self.totals();
    }

    fn totals(&self) -> Sums {
        self.threads.iter().fold(Sums::default(), |sums, thread| {
            let grown =
                |sum: u64, count: &AtomicU64| sum.saturating_add(count.load(Ordering::Relaxed));
            Sums {
                hits: grown(sums.hits, &thread.hits),
                misses: grown(sums.misses, &thread.misses),
                saved_micros: grown(sums.saved_micros, &thread.saved_micros),
            }
        })
    }
}

impl ThreadLookups {
    /// Counts a hit that saves `micros`; its number among the thread's own.
    #[inline]
    pub(crate) fn hit(&self, micros: u32) -> u64 {
        add(&self.saved_micros, micros.into());
        add(&self.hits, 1)
    }

    #[inline]
    pub(crate) fn missed(&self) {
        add(&self.misses, 1);
    }
}

#[inline]
fn add(count: &AtomicU64, more: u64) -> u64 {
    // Only the count's own thread stores here, so the two steps lose nothing. Relaxed: a count
    // orders nothing else.
    let sum = count.load(Ordering::Relaxed).saturating_add(more);
    count.store(sum, Ordering::Relaxed);
    sum
}

/// A count of events that are rare beside lookups.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Saturates.
    pub(crate) fn add(&self, more: u64) {
        let grown = |count: u64| Some(count.saturating_add(more));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
    }

    /// Takes back one that was added.
    pub(crate) fn take_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// What one cache counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lookups: Lookups,
    pub(crate) computed: Count,
    pub(crate) shared: Count,
    /// Not a sum but a level: it is never cleared.
    waiting: Count,
    pub(crate) failed: Count,
    pub(crate) recalled: Count,
    pub(crate) evicted_entries: Count,
    pub(crate) evicted_bytes: Count,
    pub(crate) not_kept: Count,
}

/// A request that is counted as waiting until this is dropped.
pub(crate) struct CountedWait<'c>(&'c Count);

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl Counts {
    pub(crate) fn one_waits(&self) -> CountedWait<'_> {
        self.waiting.add(1);
        CountedWait(&self.waiting)
    }

    pub(crate) fn clear(&self) {
        self.lookups.clear();
        let rare = [
            &self.computed,
            &self.shared,
            &self.failed,
            &self.recalled,
            &self.evicted_entries,
            &self.evicted_bytes,
            &self.not_kept,
        ];
        rare.into_iter().for_each(Count::clear);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let Sums { hits, misses, saved_micros } = self.lookups.sums();
        Snapshot {
            hits,
            misses,
            saved: Duration::from_micros(saved_micros),
            computed: self.computed.get(),
            shared: self.shared.get(),
            waiting: self.waiting.get(),
            failed: self.failed.get(),
            recalled_failures: self.recalled.get(),
            evicted: Size { entries: self.evicted_entries.get(), bytes: self.evicted_bytes.get() },
            not_kept: self.not_kept.get(),
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
