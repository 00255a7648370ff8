//! How does a thread look up values that it only borrows?

use std::hash::{BuildHasher, Hash};

use crossbeam_epoch::{Guard, pin};
use ptx_key::KeyHasher;

use crate::Weigh;
use crate::cache::Cache;
use crate::counters::ThreadLookups;

/// A thread that is pinned for look-ups in one cache. See [`Cache::pin`].
///
/// A value that it lends lives as long as the pin, even if the entry is evicted.
pub struct Pinned<'c, K: 'static, V: 'static, S = KeyHasher> {
    cache: &'c Cache<K, V, S>,
    /// Not `Send`, so `thread` is the thread that uses this.
    guard: Guard,
    thread: &'c ThreadLookups,
}

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Pins the thread for several look-ups. Each is cheaper, and values can be borrowed.
    ///
    /// While it lives, nothing that any cache retires is freed: keep it for a burst of dispatches,
    /// not for a wait.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one function a hit: the calls were a tenth of it")]
    pub fn pin(&self) -> Pinned<'_, K, V, S> {
        Pinned { cache: self, guard: pin(), thread: self.counts.lookups.of_thread() }
    }

    /// Returns the value of `key` if it is resident.
    #[inline]
    pub fn get(&self, key: &K) -> Option<V> {
        self.with(key, V::clone)
    }

    /// Lends the value of `key` to `read` if it is resident. Nothing is cloned: many cores can read
    /// one hot value, and none writes a line that the others read.
    #[inline]
    pub fn with<R>(&self, key: &K, read: impl FnOnce(&V) -> R) -> Option<R> {
        self.pin().get(key).map(read)
    }

    /// Returns the value of `key` if it is resident, and counts a hit. A miss is not counted.
    #[inline]
    pub(crate) fn resident(&self, key: &K) -> Option<V> {
        self.pin().hit(key).cloned()
    }
}

impl<K, V, S> Pinned<'_, K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Returns the value of `key` if it is resident. Counts a hit or a miss.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one function a hit: the calls were a tenth of it")]
    pub fn get(&self, key: &K) -> Option<&V> {
        let value = self.hit(key);
        if value.is_none() {
            self.thread.missed();
        }
        value
    }

    /// Returns the value of `key` if it is resident, and counts a hit. A miss is not counted.
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
