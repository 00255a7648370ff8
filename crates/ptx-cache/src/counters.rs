//! Counters: lookups by thread, all else by event.

use thread_local::ThreadLocal;

use crate::Snapshot;
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
    cleared: Mutex<(u64, u64)>,
}

#[derive(Debug, Default)]
struct ThreadLookups {
    hits: AtomicU64,
    misses: AtomicU64,
    /// Keeps the counts of two threads off one line. An alignment would do it too, but then the
    /// path that makes a thread's first counts would align the stack of every hit.
    _apart: [u64; 14],
}

impl Lookups {
    /// Counts a hit; its number among the thread's own.
    #[inline]
    pub(crate) fn hit(&self) -> u64 {
        add_one(&self.threads.get_or_default().hits)
    }

    #[inline]
    pub(crate) fn missed(&self) {
        add_one(&self.threads.get_or_default().misses);
    }

    /// Hits and misses over all threads since the last clear. What is counted at the same time
    /// may be missing.
    pub(crate) fn sums(&self) -> (u64, u64) {
        let cleared = *lock(&self.cleared);
        let (hits, misses) = self.totals();
        (hits.wrapping_sub(cleared.0), misses.wrapping_sub(cleared.1))
    }

    pub(crate) fn clear(&self) {
        *lock(&self.cleared) = self.totals();
    }

    fn totals(&self) -> (u64, u64) {
        self.threads.iter().fold((0, 0), |(hits, misses), thread| {
            let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
            (hits.wrapping_add(read(&thread.hits)), misses.wrapping_add(read(&thread.misses)))
        })
    }
}

#[inline]
fn add_one(count: &AtomicU64) -> u64 {
    // Only the count's own thread stores here, so the two steps lose nothing. Relaxed: a count
    // orders nothing else.
    let more = count.load(Ordering::Relaxed).wrapping_add(1);
    count.store(more, Ordering::Relaxed);
    more
}

/// A count of events that are rare beside lookups.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

impl Default for Count {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
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
    pub(crate) made: Count,
    pub(crate) coalesced: Count,
    pub(crate) failed: Count,
    pub(crate) recalled: Count,
    pub(crate) evicted_entries: Count,
    pub(crate) evicted_bytes: Count,
    pub(crate) not_kept: Count,
}

impl Counts {
    pub(crate) fn clear(&self) {
        self.lookups.clear();
        let rare = [
            &self.made,
            &self.coalesced,
            &self.failed,
            &self.recalled,
            &self.evicted_entries,
            &self.evicted_bytes,
            &self.not_kept,
        ];
        rare.into_iter().for_each(Count::clear);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let (hits, misses) = self.lookups.sums();
        Snapshot {
            hits,
            misses,
            made: self.made.get(),
            coalesced: self.coalesced.get(),
            failed: self.failed.get(),
            recalled_failures: self.recalled.get(),
            evicted_entries: self.evicted_entries.get(),
            evicted_bytes: self.evicted_bytes.get(),
            not_kept: self.not_kept.get(),
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn the_sum_over_threads_that_came_and_went_is_exact() {
        let lookups = Lookups::default();
        for _ in 0..8 {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..1000 {
                            lookups.hit();
                            lookups.missed();
                        }
                    });
                }
            });
        }
        assert_eq!(lookups.sums(), (32_000, 32_000));
        lookups.clear();
        lookups.hit();
        assert_eq!(lookups.sums(), (1, 0));
    }
}
