//! The operations of the cache in memory.

use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use crossbeam_epoch::pin;
use crossbeam_utils::CachePadded;
use ptx_key::BuildKeyHasher;

use crate::accounting::Accounting;
use crate::policy::Clock;
use crate::counters::Counts;
use crate::flight::Failures;
use crate::flight::Flights;
use crate::policy::Ghosts;
use crate::room::{Leaving, LoadTime, Newcomer};
use crate::table::Shard;
use crate::table::{About, Slot};
use crate::sync::{Mutex, Ordering, fence, lock};
use crate::{
    Budget, Config, EntryReport, Event, Listener, Made, Pinned, Resident, Snapshot, Weigh,
};

/// How often an insertion makes room before it goes without being kept: others may take each
/// time what it made.
const MOST_ATTEMPTS: u32 = 64;

/// A cache in memory: hits without a lock, one making of a value per key, exact accounting.
///
/// Keys are plain values, hashed by `S`; keys of `ptx-key` are digests already and cost nothing to
/// hash. Values are cloned out, so they are `Arc`s or the like: cloning must be cheap and must not
/// panic. Comparing and hashing a key, cloning and weighing a value happen under locks of the
/// cache: none of them may call it.
///
/// Dropping a value that was retired happens later, on whichever thread of the process next
/// passes an epoch: a value's drop must not block on what a caller of this cache may hold.
///
/// ```
/// use std::sync::{Arc, OnceLock};
/// use ptx_cache::{Cache, Config, Made};
/// use ptx_key::PtxKey;
///
/// let cache: Cache<PtxKey, Arc<str>> = Cache::new(Config::default());
/// let key = PtxKey::from_bytes([7; 32]);
/// let made = cache.get_or_make(key, || Ok::<_, std::fmt::Error>(Made::new("text".into())))?;
/// assert_eq!(&*made.value, "text");
/// assert!(Arc::ptr_eq(&cache.get(&key).unwrap(), &made.value));
/// # Ok::<(), ptx_cache::CacheError>(())
/// ```
pub struct Cache<K: 'static, V: 'static, S = BuildKeyHasher> {
    /// A power of two of them.
    pub(crate) shards: Box<[Shard<K, V>]>,
    pub(crate) flights: Box<[CachePadded<Flights<K, V, S>>]>,
    pub(crate) failures: Failures<K, S>,
    hasher: S,
    config: ArcSwap<Config>,
    pub(crate) accounting: CachePadded<Accounting>,
    pub(crate) clock: Clock,
    /// Held by the one thread that chooses who stays.
    pub(crate) choosing: Mutex<Leaving<K>>,
    /// What is remembered of the uses of retired entries.
    pub(crate) ghosts: Ghosts,
    /// What a load from a tier beneath takes.
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
        Self::with_hasher(config, BuildKeyHasher)
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
            accounting: CachePadded::new(Accounting::new()),
            clock: Clock::start(),
            choosing: Mutex::new(Leaving::default()),
            ghosts: Ghosts::default(),
            load_time: LoadTime::default(),
            counts: Counts::default(),
            listener: OnceLock::new(),
        }
    }

    /// The same cache, whose events `listener` hears. The first listener stays.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn Listener<K>>) -> Self {
        self.listener.get_or_init(|| listener);
        self
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.listener.get().is_some()
    }

    pub(crate) fn tell(&self, event: Event<'_, K>) {
        if let Some(listener) = self.listener.get() {
            listener.hear(&event);
        }
    }

    /// The value of `key`, if it is resident.
    #[inline]
    pub fn get(&self, key: &K) -> Option<V> {
        self.with(key, V::clone)
    }

    /// Gives the value of `key` to `read`, if it is resident. Nothing is cloned, so many cores may
    /// read one hot value and none of them writes a line that the others read.
    #[inline]
    pub fn with<R>(&self, key: &K, read: impl FnOnce(&V) -> R) -> Option<R> {
        self.pin().get(key).map(read)
    }

    /// Pins the thread for several lookups: each is cheaper, and values can be borrowed.
    ///
    /// While it lives, nothing that any cache retires can be freed: keep it for a burst of
    /// dispatches, not for a wait.
    #[inline]
    pub fn pin(&self) -> Pinned<'_, K, V, S> {
        Pinned::new(self)
    }

    /// The value of `key` if it is resident, counted as a hit; an absent one is not counted.
    #[inline]
    pub(crate) fn resident(&self, key: &K) -> Option<V> {
        self.pin().hit(key).cloned()
    }

    /// Makes `made` the value of `key`, in place of the one there was. Whether it was kept; if not,
    /// `key` has no value. What alone exceeds the budget is not. Nor is what was retired before, or takes
    /// more than half of the byte budget, if it is worth less than those that would have to go for
    /// it. A value without a cost counts as one that costs nothing to make again, and is the first to
    /// go.
    pub fn insert(&self, key: K, made: Made<V>) -> bool {
        let bytes = made.value.weight();
        let kept = self.publish(key, made, Duration::ZERO);
        self.tell(Event::Inserted { key: &key, bytes, kept });
        kept
    }

    /// Tells the retention what a load from a tier beneath took. The running mean of these is what
    /// the next miss costs of entries that are [held below](Made::in_lower_tier); until the first
    /// one it is what making them costs.
    pub fn note_load(&self, took: Duration) {
        self.load_time.note(took);
    }

    /// Takes out the value of `key`.
    pub fn remove(&self, key: &K) -> Option<V> {
        let value = self.take_out(key)?;
        self.tell(Event::Removed { key, bytes: value.weight() });
        Some(value)
    }

    fn take_out(&self, key: &K) -> Option<V> {
        let guard = pin();
        let hash = self.hash(key);
        let slot = self.shards[self.shard_number(hash)].remove_if(hash, key, |_| true, &guard)?;
        self.accounting.release(slot.value.weight());
        let value = slot.value.clone();
        // Its own reference need not wait in this thread's bag for company.
        guard.flush();
        Some(value)
    }

    /// Takes out every value that is resident when this is called, forgets failures, and sets the
    /// counts to zero. Values that are being made are published afterwards.
    pub fn clear(&self) {
        self.failures.clear();
        let guard = pin();
        for shard in &self.shards {
            shard.clear(|slot| self.accounting.release(slot.value.weight()), &guard);
        }
        guard.flush();
        drop(guard);
        self.let_go(u64::MAX);
        self.counts.clear();
        self.tell(Event::Cleared);
    }

    /// Changes the settings. A smaller budget is met before this returns.
    pub fn reconfigure(&self, config: Config) {
        if config.failures.is_none() {
            self.failures.clear();
        }
        self.config.store(Arc::new(config));
        lock(&self.choosing).forget();
        self.keep_to_budget();
    }

    /// The settings in force.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// The budget in force, as far as it can be counted.
    pub(crate) fn budget(&self) -> Budget {
        self.config.load().budget.countable()
    }

    /// Every resident entry, in no order. One that is being replaced at the same time may be
    /// listed with both its values.
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

    /// Makes `made` the value of `key` if the budget allows it, and room if it must. Whether it
    /// was kept; if not, `key` has no value.
    pub(crate) fn publish(&self, key: K, made: Made<V>, took: Duration) -> bool {
        self.failures.forget(&key);
        let hash = self.hash(&key);
        let weight = made.value.weight();
        let family = made.family.map_or(hash, |family| family.prefix());
        let about = About {
            cost: made.cost.unwrap_or(took),
            in_lower_tier: made.in_lower_tier,
            #[expect(
                clippy::cast_possible_truncation,
                reason = "31 uniform bits tell families apart"
            )]
            family: family as u32,
            born_seconds: self.clock.seconds(),
        };
        let tick = self.clock.inserted(self.accounting.resident().entries);
        let mut slot = Slot::new(key, made.value, about, self.ghosts.recall(hash, tick));
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
                    self.let_go(replaced);
                    self.keep_to_budget();
                    return true;
                }
                Err(refused) => slot = refused,
            }
            if !budget.holds(Resident { entries: 1, bytes: weight }) {
                break;
            }
            let adds = Resident { entries, bytes: weight.saturating_sub(replaced) };
            if !self.make_room(Some(&Newcomer { hash, entry: self.candidate(&slot), adds })) {
                self.ghosts.remember(hash, slot.usage.word());
                break;
            }
        }
        // The old value is not the key's any more.
        self.take_out(&key);
        self.counts.not_kept.add(1);
        false
    }

    /// Retires residents if there are more than the budget in force holds.
    ///
    /// An insertion calls this after it has published, and `reconfigure` after it has stored: of
    /// the two, by the fence, the later one sees what the other did, and nothing that one of them
    /// could not see yet stays over the budget.
    fn keep_to_budget(&self) {
        fence(Ordering::SeqCst);
        for _ in 0..MOST_ATTEMPTS {
            if self.budget().holds(self.accounting.resident()) {
                return;
            }
            self.make_room(None);
        }
    }

    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Bits that neither the tag (the top seven) nor the group (the low ones) takes.
    #[inline]
    pub(crate) fn shard_number(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.shards.len() - 1)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
