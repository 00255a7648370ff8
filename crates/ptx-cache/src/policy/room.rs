//! How does an insertion into a full cache get room?
//!
//! 1. It [selects](Cache::select) victims from the queue until the newcomer fits. If the queue is
//!    empty or old, it [chooses](Cache::choose) a new one.
//! 2. It [judges](Cache::is_worth) the newcomer: one that was evicted before and came back must be
//!    worth more than its victims. So a loop longer than the cache does not evict every entry in
//!    turn.
//! 3. It evicts the victims, or puts them back.
//!
//! A choice looks ahead to the low water, so that many insertions share its cost. Its victims stay
//! resident until room is needed: a cache stays as full as its budget allows. A victim that is used
//! meanwhile is saved.
//!
//! Hits go on meanwhile, and so do lowerings of other keys. Only insertions that need room wait.

use std::hash::{BuildHasher, Hash};

use crossbeam_epoch::{Guard, pin};
use ptx_store::Size;

use super::clock::TICKS_TO_A_TURNOVER;
use super::retention::{Candidate, Retention};
use super::victims::{Newcomer, Victim, VictimQueue};
use crate::accounting::countable;
use crate::cache::Cache;
use crate::sync::lock;
use crate::table::Slot;
use crate::{Config, Event, Weigh};

/// The number of ticks that a choice lasts.
const CHOICE_LASTS: u32 = TICKS_TO_A_TURNOVER / 2;

/// The cache flushes a value larger than this part of the byte budget at once, out of the thread's
/// bag of retired values.
const LARGE_SHARE: u64 = 4096;

/// A victim as it is now.
struct Selected<K> {
    victim: Victim<K>,
    size: Size,
    worth: f64,
}

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Evicts entries until `newcomer` fits. Without a newcomer, evicts until the entries fit the
    /// budget. Returns false, and evicts nothing, if the newcomer is not worth its victims.
    pub(crate) fn make_room(&self, newcomer: Option<&Newcomer>) -> bool {
        let evicted = {
            // Before the lock: a pin may drop what any thread retired, and a drop may call the
            // cache.
            let guard = pin();
            let mut queue = lock(&self.victims);
            let config = self.config();
            let budget = countable(config.budget);
            // The budget that refused the newcomer may have been another.
            let alone = |newcomer: &Newcomer| Size { entries: 1, bytes: newcomer.entry.bytes };
            if newcomer.is_some_and(|newcomer| !alone(newcomer).fits(budget)) {
                return false;
            }
            let selected = self.select(&mut queue, &config, newcomer, &guard);
            if let Some(newcomer) = newcomer
                && !self.is_worth(&mut queue, &config, newcomer, &selected, &guard)
            {
                queue.queue.extend(selected.iter().rev().map(|selected| selected.victim));
                return false;
            }
            let keys = selected.into_iter().map(|selected| selected.victim.key);
            keys.filter_map(|key| Some((key, self.evict(&key, |_| true, &guard)?))).collect()
        };
        self.settle(evicted);
        true
    }

    /// Evicts entries for which `may_evict` is true, in the order of the retention, until their
    /// bytes are at least `bytes`. Returns the size of what was evicted.
    ///
    /// Use this if the values hold another resource, such as device memory, that runs out before
    /// the budget. A value drops when no thread looks at it any more.
    ///
    /// `may_evict` is called under locks of the cache, and must not call it.
    pub fn evict_where(&self, bytes: u64, may_evict: impl Fn(&K, &V) -> bool) -> Size {
        let mut evicted = Vec::new();
        let mut size = Size::default();
        {
            // Before the lock, as in `make_room`.
            let guard = pin();
            let _queue = lock(&self.victims);
            let may_evict = |slot: &Slot<K, V>| may_evict(&slot.key, &slot.value);
            let residents = self.shards.iter().flat_map(|shard| shard.entries(&guard));
            let residents: Vec<&Slot<K, V>> = residents.filter(|slot| may_evict(slot)).collect();
            let candidates: Vec<Candidate> =
                residents.iter().map(|slot| self.candidate(slot)).collect();
            let all = candidates.iter().fold(0, |sum: u64, one| sum.saturating_add(one.bytes));
            let left = Size { bytes: all.saturating_sub(bytes), ..Size::UNBOUNDED };
            for at in eviction_order(&*self.config().retention, &candidates, left) {
                if size.bytes >= bytes {
                    break;
                }
                let key = &residents[at].key;
                if let Some(bytes) = self.evict(key, may_evict, &guard) {
                    size = size.saturating_add(Size { entries: 1, bytes });
                    evicted.push((*key, bytes));
                }
            }
        }
        self.collect(u64::MAX);
        self.settle(evicted);
        size
    }

    /// Takes victims from the queue until `newcomer` fits beside the others.
    fn select(
        &self,
        queue: &mut VictimQueue<K>,
        config: &Config,
        newcomer: Option<&Newcomer>,
        guard: &Guard,
    ) -> Vec<Selected<K>> {
        let budget = beside(countable(config.budget), newcomer);
        let mut is_fresh = self.clock.tick().wrapping_sub(queue.chosen_at) >= CHOICE_LASTS;
        if is_fresh {
            self.choose(queue, config, newcomer, guard);
        }
        let mut selected: Vec<Selected<K>> = Vec::new();
        let mut left = self.accounting.resident();
        while !left.fits(budget) {
            let Some(victim) = queue.queue.pop() else {
                if is_fresh {
                    break;
                }
                is_fresh = true;
                selected.clear();
                left = self.accounting.resident();
                self.choose(queue, config, newcomer, guard);
                continue;
            };
            // A use saves no victim of a fresh choice. Otherwise hits would undo every choice.
            let stands = |slot: &&Slot<K, V>| is_fresh || !victim.was_used(slot);
            let Some(slot) = self.slot(&victim.key, guard).filter(stands) else {
                continue;
            };
            let candidate = self.candidate(slot);
            let size = Size { entries: 1, bytes: candidate.bytes };
            left = left.saturating_sub(size);
            selected.push(Selected { victim, size, worth: config.retention.worth(&candidate) });
        }
        // After a large victim there may be room again for earlier victims. The most valuable is
        // kept first.
        for at in (0..selected.len().saturating_sub(1)).rev() {
            let kept = left.saturating_add(selected[at].size);
            if kept.fits(budget) {
                left = kept;
                queue.queue.push(selected.remove(at).victim);
            }
        }
        selected
    }

    /// Returns true if `newcomer` is kept: it is not judged, or it is worth more than its victims.
    /// Updates the margin from earlier refusals.
    fn is_worth(
        &self,
        queue: &mut VictimQueue<K>,
        config: &Config,
        newcomer: &Newcomer,
        selected: &[Selected<K>],
        guard: &Guard,
    ) -> bool {
        let was_used = |victim: &Victim<K>| {
            self.slot(&victim.key, guard).is_some_and(|slot| victim.was_used(slot))
        };
        queue.refusals.is_back(newcomer.hash, was_used);
        let Some(first) = selected.first() else { return true };
        let lost: f64 = selected.iter().map(|selected| selected.worth).sum();
        // A worth that is no number refuses nobody.
        let is_refused = newcomer.is_judged(countable(config.budget))
            && config.retention.worth(&newcomer.entry) <= lost * queue.refusals.margin();
        if is_refused {
            queue.refusals.refused(newcomer.hash, first.victim, was_used);
        }
        !is_refused
    }

    /// Fills the queue with enough victims that the other entries fit the low water.
    fn choose(
        &self,
        queue: &mut VictimQueue<K>,
        config: &Config,
        newcomer: Option<&Newcomer>,
        guard: &Guard,
    ) {
        let residents: Vec<&Slot<K, V>> =
            self.shards.iter().flat_map(|shard| shard.entries(guard)).collect();
        let candidates: Vec<Candidate> =
            residents.iter().map(|slot| self.candidate(slot)).collect();
        let low_water = beside(config.low_water(), newcomer);
        let mut order = eviction_order(&*config.retention, &candidates, low_water);
        if order.len() == candidates.len() {
            // Few large entries: the low water has room for none, the budget may have.
            let budget = beside(countable(config.budget), newcomer);
            order = eviction_order(&*config.retention, &candidates, budget);
        }
        let victim = |slot: &&Slot<K, V>| Victim { key: slot.key, usage: slot.usage.word() };
        queue.chosen_at = self.clock.tick();
        queue.queue.clear();
        queue.queue.extend(order.iter().rev().filter_map(|&at| residents.get(at)).map(victim));
    }

    fn slot<'g>(&'g self, key: &K, guard: &'g Guard) -> Option<&'g Slot<K, V>> {
        let hash = self.hash(key);
        self.shards[self.shard_number(hash)].get(hash, key, guard)
    }

    /// An entry as retention sees it now.
    pub(crate) fn candidate(&self, slot: &Slot<K, V>) -> Candidate {
        let uses = slot.usage.at(self.clock.tick());
        let load = self.load_time.mean().filter(|_| slot.in_lower_tier());
        Candidate {
            bytes: slot.value.weight(),
            idle: uses.idle,
            gaps: uses.gaps,
            cost: load.map_or(slot.cost(), |load| load.min(slot.cost())),
            family: slot.family(),
        }
    }

    /// Evicts the entry of `key` if it is resident and `may_evict` is true. Returns its bytes.
    fn evict(
        &self,
        key: &K,
        may_evict: impl FnOnce(&Slot<K, V>) -> bool,
        guard: &Guard,
    ) -> Option<u64> {
        let hash = self.hash(key);
        let shard = &self.shards[self.shard_number(hash)];
        let slot = shard.remove_if(hash, key, may_evict, guard)?;
        let weight = slot.value.weight();
        self.accounting.release(weight);
        self.ghosts.remember(hash, slot.usage.word());
        self.counts.evicted_entries.add(1);
        self.counts.evicted_bytes.add(weight);
        Some(weight)
    }

    /// Drops what was evicted and notifies the listener. No lock is held: both may call the cache.
    fn settle(&self, evicted: Vec<(K, u64)>) {
        self.collect(evicted.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes)));
        if self.has_listener() {
            for (key, bytes) in evicted {
                self.notify(Event::Evicted { key: &key, bytes });
            }
        }
    }

    /// Drops values of `bytes` that this thread has just retired as soon as no reader can see them,
    /// if they are large. In the thread's bag they would wait for 64 others.
    ///
    /// No lock is held: a drop may call the cache.
    pub(crate) fn collect(&self, bytes: u64) {
        if bytes > 0 && bytes > self.budget().bytes / LARGE_SHARE {
            // The epoch has to pass twice.
            (0..2).for_each(|_| pin().flush());
        }
    }
}

/// Returns the positions of victims in eviction order, each once. Without them the other candidates
/// fit `budget`.
fn eviction_order(retention: &dyn Retention, candidates: &[Candidate], budget: Size) -> Vec<usize> {
    let mut stays = vec![true; candidates.len()];
    let mut order = retention.victims(candidates, budget);
    order.retain(|&position| {
        stays.get_mut(position).is_some_and(|stays| std::mem::replace(stays, false))
    });
    let size = |candidate: &Candidate| Size { entries: 1, bytes: candidate.bytes };
    let staying = candidates.iter().zip(&stays).filter(|(_, stays)| **stays);
    let mut left = staying.fold(Size::default(), |sum, (one, _)| sum.saturating_add(size(one)));
    // The caller's retention may return too few victims. This adds the missing ones.
    for (position, candidate) in candidates.iter().enumerate().rev() {
        if left.fits(budget) {
            break;
        }
        if stays[position] {
            order.push(position);
            left = left.saturating_sub(size(candidate));
        }
    }
    order
}

/// What is left of `budget` beside `newcomer`.
fn beside(budget: Size, newcomer: Option<&Newcomer>) -> Size {
    budget.saturating_sub(newcomer.map_or(Size::default(), |newcomer| newcomer.adds))
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
