//! Lookups under one pin.

use std::hash::{BuildHasher, Hash};

use crossbeam_epoch::{Guard, pin};
use ptx_key::BuildKeyHasher;

use crate::counters::ThreadLookups;
use crate::{Cache, Weigh};

/// A thread that is pinned for lookups in one cache. See [`Cache::pin`].
///
/// A value that it lends stays alive as long as it does, even when the entry is retired.
pub struct Pinned<'c, K: 'static, V: 'static, S = BuildKeyHasher> {
    cache: &'c Cache<K, V, S>,
    /// Not `Send`, so the thread below is the thread that uses this.
    guard: Guard,
    thread: &'c ThreadLookups,
}

impl<'c, K, V, S> Pinned<'c, K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one function a hit: the calls were a tenth of it")]
    pub(crate) fn new(cache: &'c Cache<K, V, S>) -> Self {
        Self { cache, guard: pin(), thread: cache.counts.lookups.of_thread() }
    }

    /// The value of `key`, if it is resident. Counted as a hit or a miss.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one function a hit: the calls were a tenth of it")]
    pub fn get(&self, key: &K) -> Option<&V> {
        let value = self.hit(key);
        if value.is_none() {
            self.thread.missed();
        }
        value
    }

    /// The value of `key` if it is resident, counted as a hit; an absent one is not counted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one function a hit: the calls were a tenth of it")]
    pub(crate) fn hit(&self, key: &K) -> Option<&V> {
        let cache = self.cache;
        let hash = cache.hash(key);
        let slot = cache.shards[cache.shard_number(hash)].get(hash, key, &self.guard)?;
        let turn = self.thread.hit(slot.cost_micros);
        slot.usage.record(cache.clock.tick(), turn);
        Some(&slot.value)
    }
}
