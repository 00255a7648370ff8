//! The cache in memory: its parts, and the operations of its owner.
//!
//! Look-ups are in `table/pinned.rs`, requests in `flight/lead.rs`, evictions in `policy/room.rs`.

use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use crossbeam_epoch::pin;
use crossbeam_utils::CachePadded;
use ptx_key::KeyHasher;

use ptx_store::Size;

use crate::accounting::{Accounting, countable};
use crate::counters::Counts;
use crate::flight::{Failures, Flights};
use crate::policy::{Clock, Ghosts, LoadTime, Newcomer, VictimQueue};
use crate::sync::{Mutex, Ordering, fence, lock};
use crate::table::{About, Shard, Slot};
use crate::{Computed, Config, EntryReport, Event, Listener, Snapshot, Weigh};

/// How often an insertion makes room before it gives up: others may take the room each time.
const MOST_ATTEMPTS: u32 = 64;

/// A cache in memory: hits without a lock, one leader for each key, exact accounting.
///
/// Keys are plain values, hashed by `S`. Keys of `ptx-key` are digests and cost nothing to hash.
/// Values are cloned out, so use an `Arc`: cloning must be cheap and must not panic. The cache
/// compares and hashes keys, and clones and weighs values, under its locks: none of these may call
/// the cache.
///
/// The cache drops a removed or evicted value later, on any thread that uses it or another
/// epoch-based structure. The drop must not wait for anything that a caller of the cache may hold.
///
/// ```
/// use std::sync::{Arc, OnceLock};
/// use ptx_cache::{Cache, Computed, Config};
/// use ptx_key::PtxKey;
///
/// let cache: Cache<PtxKey, Arc<str>> = Cache::new(Config::default());
/// let key = PtxKey::from_bytes([7; 32]);
/// let compute = || Ok::<_, std::fmt::Error>(Computed::from(Arc::from("text")));
/// let computed = cache.get_or_compute(key, compute)?;
/// assert_eq!(&**computed, "text");
/// assert!(cache.get(&key).is_some_and(|again| Arc::ptr_eq(&again, &computed)));
/// # Ok::<(), ptx_cache::CacheError>(())
/// ```
pub struct Cache<K: 'static, V: 'static, S = KeyHasher> {
    /// A power of two of them.
    pub(crate) shards: Box<[Shard<K, V>]>,
    pub(crate) flights: Box<[CachePadded<Flights<K, V, S>>]>,
    pub(crate) failures: Failures<K, S>,
    hasher: S,
    config: ArcSwap<Config>,
    pub(crate) accounting: CachePadded<Accounting>,
    pub(crate) clock: Clock,
    /// Locked by the one thread that evicts.
    pub(crate) victims: Mutex<VictimQueue<K>>,
    /// The uses of evicted entries.
    pub(crate) ghosts: Ghosts,
    /// The time that a load from a lower tier takes.
    pub(crate) load_time: LoadTime,
    pub(crate) counts: Counts,
    listener: OnceLock<Arc<dyn Listener<K>>>,
}

impl<K, V> Cache<K, V>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
{
    /// An empty cache for keys that are digests, with shards for this machine's cores.
    pub fn new(config: Config) -> Self {
        Self::with_hasher(config, KeyHasher::default())
    }
}

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// An empty cache whose keys are hashed by `hasher`: `ahash::RandomState` for keys that are
    /// not digests.
    pub fn with_hasher(config: Config, hasher: S) -> Self {
        let cores = std::thread::available_parallelism().map_or(8, usize::from);
        let shards = (cores * 4).next_power_of_two().min(256);
        Self {
            shards: (0..shards).map(|_| Shard::new()).collect(),
            flights: (0..shards).map(|_| CachePadded::new(Flights::new(hasher.clone()))).collect(),
            failures: Failures::new(hasher.clone()),
            hasher,
            config: ArcSwap::from_pointee(config),
            accounting: CachePadded::default(),
            clock: Clock::start(),
            victims: Mutex::new(VictimQueue::default()),
            ghosts: Ghosts::default(),
            load_time: LoadTime::default(),
            counts: Counts::default(),
            listener: OnceLock::new(),
        }
    }

    /// Notifies `listener` of every [`Event`]. The first listener stays.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn Listener<K>>) -> Self {
        self.listener.get_or_init(|| listener);
        self
    }

    pub(crate) fn has_listener(&self) -> bool {
        self.listener.get().is_some()
    }

    pub(crate) fn notify(&self, event: Event<'_, K>) {
        if let Some(listener) = self.listener.get() {
            listener.notify(&event);
        }
    }

    /// Replaces the value of `key`. Returns true if the new one is kept; if not, `key` has none.
    ///
    /// A value that alone exceeds the budget is not kept. Nor is one that was evicted before, or
    /// takes more than half of the byte budget, if it is worth less than its victims. A value
    /// without a cost counts as free to compute, and is evicted first.
    pub fn insert(&self, key: K, computed: impl Into<Computed<V>>) -> bool {
        let computed = computed.into();
        let bytes = computed.value.weight();
        let kept = self.publish(key, computed, Duration::ZERO);
        self.notify(Event::Inserted { key: &key, bytes, kept });
        kept
    }

    /// Notes the time that a load from a lower tier took. The cache takes the running mean of these
    /// times as the miss cost of entries that are [in a lower tier](Computed::in_lower_tier).
    /// Before the first load it takes the cost of computing them.
    pub fn note_load(&self, took: Duration) {
        self.load_time.note(took);
    }

    /// Removes the value of `key`, and returns it if it was resident.
    pub fn remove(&self, key: &K) -> Option<V> {
        let value = self.unlink(key)?;
        self.notify(Event::Removed { key, bytes: value.weight() });
        Some(value)
    }

    fn unlink(&self, key: &K) -> Option<V> {
        let guard = pin();
        let hash = self.hash(key);
        let slot = self.shards[self.shard_number(hash)].remove_if(hash, key, |_| true, &guard)?;
        self.accounting.release(slot.value.weight());
        let value = slot.value.clone();
        // This one reference need not wait in the thread's bag for others.
        guard.flush();
        Some(value)
    }

    /// Removes every value that is resident now, forgets failures, and sets the counts to zero.
    /// Values that are being computed are published afterwards.
    pub fn clear(&self) {
        self.failures.clear();
        let guard = pin();
        for shard in &self.shards {
            shard.clear(|slot| self.accounting.release(slot.value.weight()), &guard);
        }
        guard.flush();
        drop(guard);
        self.collect(u64::MAX);
        self.counts.clear();
        self.notify(Event::Cleared);
    }

    /// Changes the settings. A smaller budget is met before this returns.
    pub fn reconfigure(&self, config: Config) {
        let remembers = config.failures.is_some();
        self.config.store(Arc::new(config));
        if !remembers {
            self.failures.clear();
        }
        lock(&self.victims).clear();
        self.keep_to_budget();
    }

    /// The settings in force.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// The budget in force, at most what the accounting can count.
    pub(crate) fn budget(&self) -> Size {
        countable(self.config.load().budget)
    }

    /// Lists every resident entry, in no order. An entry that is being replaced may be listed with
    /// both values.
    pub fn entries(&self) -> Vec<EntryReport<K>> {
        let guard = pin();
        let tick = self.clock.tick();
        let now = self.clock.seconds();
        let slots = self.shards.iter().flat_map(|shard| shard.entries(&guard));
        slots
            .map(|slot| EntryReport {
                key: slot.key,
                bytes: slot.value.weight(),
                uses: slot.usage.at(tick).count,
                age: Duration::from_secs(now.saturating_sub(slot.born_seconds).into()),
                cost: slot.cost(),
            })
            .collect()
    }

    /// The counts since the start or the last [`clear`](Self::clear).
    pub fn snapshot(&self) -> Snapshot {
        let guard = pin();
        let index: usize = self.shards.iter().map(|shard| shard.index_size(&guard)).sum();
        Snapshot {
            resident: self.accounting.resident(),
            index_bytes: index as u64,
            ..self.counts.snapshot()
        }
    }

    /// Replaces the value of `key`, and makes room for it if it must. Returns true if the new value
    /// is kept; if not, `key` has none.
    pub(crate) fn publish(&self, key: K, computed: Computed<V>, took: Duration) -> bool {
        self.failures.forget(&key);
        let hash = self.hash(&key);
        let weight = computed.value.weight();
        let family = computed.family.map_or(hash, |family| family.prefix());
        let about = About {
            cost: computed.cost.unwrap_or(took),
            in_lower_tier: computed.in_lower_tier,
            #[expect(
                clippy::cast_possible_truncation,
                reason = "31 uniform bits tell families apart"
            )]
            family: family as u32,
            born_seconds: self.clock.seconds(),
        };
        let tick = self.clock.inserted(self.accounting.resident().entries);
        let mut slot = Slot::new(key, computed.value, about, self.ghosts.recall(hash, tick));
        let shard = &self.shards[self.shard_number(hash)];
        for _ in 0..MOST_ATTEMPTS {
            let budget = self.budget();
            let (mut entries, mut replaced) = (1, 0);
            let admits = |before: Option<&Slot<K, V>>| {
                let Some(before) = before else { return self.accounting.reserve(weight, budget) };
                (entries, replaced) = (0, before.value.weight());
                self.accounting.exchange(replaced, weight, budget)
            };
            let inserted = shard.insert(hash, slot, |key| self.hash(key), admits, &pin());
            match inserted {
                Ok(()) => {
                    self.collect(replaced);
                    self.keep_to_budget();
                    return true;
                }
                Err(refused) => slot = refused,
            }
            if !(Size { entries: 1, bytes: weight }).fits(budget) {
                break;
            }
            let adds = Size { entries, bytes: weight.saturating_sub(replaced) };
            if !self.make_room(Some(&Newcomer { hash, entry: self.candidate(&slot), adds })) {
                self.ghosts.remember(hash, slot.usage.word());
                break;
            }
        }
        // The old value is no longer the key's.
        self.unlink(&key);
        self.counts.not_kept.add(1);
        false
    }

    /// Evicts entries while there are more than the budget in force allows.
    ///
    /// An insertion calls this after it has published, and `reconfigure` after it has stored the
    /// budget. By the fence the later of the two sees what the other did, so nothing stays over
    /// the budget.
    fn keep_to_budget(&self) {
        fence(Ordering::SeqCst);
        for _ in 0..MOST_ATTEMPTS {
            if self.accounting.resident().fits(self.budget()) {
                return;
            }
            self.make_room(None);
        }
    }

    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Uses bits that neither the tag (the top seven) nor the group (the low ones) uses.
    #[inline]
    pub(crate) fn shard_number(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.shards.len() - 1)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
