//! Making room: the insertion that meets a full budget chooses who is to go, and retires as many of
//! them as it needs; the next ones go on from there.
//!
//! The choice looks ahead to the low water, so that it is paid for once in many insertions, but what
//! it found stays resident until room is needed: a cache stays as full as its budget allows. An
//! entry that is used meanwhile is passed over. A newcomer that was retired before and asked for again
//! is served and not kept if it is worth no more than what would have to go for it: a loop that is
//! longer than the cache does not wash through it.
//!
//! Hits go on meanwhile, and so do lowerings of other keys; only insertions that need room wait.

use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use crossbeam_epoch::{Guard, pin};

use crate::clock::TICKS_TO_A_TURNOVER;
use crate::refusals::Refusals;
use crate::table::Slot;
use crate::sync::{AtomicU64, Ordering, lock};
use crate::{Budget, Cache, Candidate, Config, Event, Resident, Retention, Weigh};

/// Ticks after which it is chosen anew who is to go.
const CHOICE_LASTS: u32 = TICKS_TO_A_TURNOVER / 2;

/// What exceeds the byte budget's part in this many does not wait in a thread's bag.
const LARGE_SHARE: u64 = 4096;

/// Who was chosen to go.
pub(crate) struct Leaving<K> {
    /// The next one to go comes last.
    queue: Vec<Judged<K>>,
    chosen_at: u32,
    refusals: Refusals<Judged<K>>,
}

/// An entry that asks for room.
pub(crate) struct Newcomer {
    /// Its key's.
    pub(crate) hash: u64,
    pub(crate) entry: Candidate,
    /// What it adds to what is resident: less than itself where it takes another's place.
    pub(crate) adds: Resident,
}

/// An entry that would go for a newcomer.
struct Going<K> {
    judged: Judged<K>,
    bytes: u64,
    worth: f64,
}

/// An entry as it was when it was chosen.
#[derive(Clone, Copy)]
struct Judged<K> {
    key: K,
    usage: u32,
}

impl<K> Judged<K> {
    /// Whether the entry, which is at `slot` now, was used since.
    fn was_used<V>(&self, slot: &Slot<K, V>) -> bool {
        slot.usage.word() != self.usage
    }
}

impl<K> Default for Leaving<K> {
    fn default() -> Self {
        Self { queue: Vec::new(), chosen_at: 0, refusals: Refusals::default() }
    }
}

impl<K> Leaving<K> {
    /// Forgets a choice that was made under other settings.
    pub(crate) fn forget(&mut self) {
        self.queue.clear();
    }
}

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Retires residents until there is room for `newcomer` on top, or, without one, until the
    /// budget holds those that are left. False if the newcomer is not worth it; nothing was then
    /// retired.
    ///
    /// Listeners hear of what was retired after the lock is released: they may call the cache.
    pub(crate) fn make_room(&self, newcomer: Option<&Newcomer>) -> bool {
        let mut heard = Vec::new();
        let (is_worth_it, retired) = self.retire_for(newcomer, &mut heard);
        self.let_go(retired);
        self.tell_evicted(&heard);
        is_worth_it
    }

    fn tell_evicted(&self, retired: &[(K, u64)]) {
        for &(ref key, bytes) in retired {
            self.tell(Event::Evicted { key, bytes });
        }
    }

    /// Has values of `bytes` that this thread has just retired dropped as soon as no reader may look
    /// at them, where they are large: in the thread's bag they would wait for 64 of their like.
    ///
    /// No lock is held: what is dropped may call the cache.
    pub(crate) fn let_go(&self, bytes: u64) {
        if bytes > 0 && bytes > self.budget().bytes / LARGE_SHARE {
            // The epoch has to pass twice.
            (0..2).for_each(|_| pin().flush());
        }
    }

    /// Puts the keys and bytes of what was retired into `heard`, if anybody listens. Whether the
    /// newcomer is worth it, and all bytes that were retired.
    fn retire_for(&self, newcomer: Option<&Newcomer>, heard: &mut Vec<(K, u64)>) -> (bool, u64) {
        // Before the lock: a pin may drop what any thread retired, and a drop may call the cache.
        let guard = pin();
        let mut leaving = lock(&self.choosing);
        let config = self.config();
        let budget = config.budget.countable();
        // The budget that refused it may have been another.
        let alone = |newcomer: &Newcomer| Resident { entries: 1, bytes: newcomer.entry.bytes };
        if newcomer.is_some_and(|newcomer| !budget.holds(alone(newcomer))) {
            return (false, 0);
        }
        let mut is_fresh = false;
        if self.clock.tick().wrapping_sub(leaving.chosen_at) >= CHOICE_LASTS {
            self.choose(&mut leaving, &config, newcomer, &guard);
            is_fresh = true;
        }
        let retention = &*config.retention;
        let worth = newcomer.map_or(f64::INFINITY, |newcomer| retention.worth(&newcomer.entry));
        let budget_beside = beside(budget, newcomer);
        let mut going: Vec<Going<K>> = Vec::new();
        let mut left = self.accounting.resident();
        while !budget_beside.holds(left) {
            let Some(judged) = leaving.queue.pop() else {
                if is_fresh {
                    break;
                }
                is_fresh = true;
                going.clear();
                left = self.accounting.resident();
                self.choose(&mut leaving, &config, newcomer, &guard);
                continue;
            };
            // Hits between a choice and its use would undo every choice in turn.
            let stands = |slot: &&Slot<K, V>| is_fresh || !judged.was_used(slot);
            let Some(slot) = self.slot(&judged.key, &guard).filter(stands) else {
                continue;
            };
            let candidate = self.candidate(slot);
            left = without(left, candidate.bytes);
            let worth = retention.worth(&candidate);
            going.push(Going { judged, bytes: candidate.bytes, worth });
        }
        // What went before a larger one may have room beside it after all, the worthiest first.
        for at in (0..going.len().saturating_sub(1)).rev() {
            let kept = with(left, going[at].bytes);
            if budget_beside.holds(kept) {
                left = kept;
                leaving.queue.push(going.remove(at).judged);
            }
        }
        // What was never used again is kept on trial, for the burst that may be coming: it is judged
        // at the next choice. But not at the price of most of what there is.
        let is_judged = newcomer.is_some_and(|newcomer| {
            newcomer.entry.gaps[0] > 0 || newcomer.entry.bytes > budget.bytes / 2
        });
        let was_used = |incumbent: &Judged<K>| {
            self.slot(&incumbent.key, &guard).is_some_and(|slot| incumbent.was_used(slot))
        };
        if let Some(newcomer) = newcomer {
            leaving.refusals.is_back(newcomer.hash, was_used);
        }
        let lost: f64 = going.iter().map(|going| going.worth).sum();
        if let (true, Some(newcomer), Some(first)) = (is_judged, newcomer, going.first())
            && worth <= lost * leaving.refusals.margin()
        {
            leaving.refusals.refused(newcomer.hash, first.judged, was_used);
            leaving.queue.extend(going.iter().rev().map(|going| going.judged));
            return (false, 0);
        }
        let mut retired = 0_u64;
        for Going { judged: Judged { key, .. }, .. } in going {
            let Some(weight) = self.retire(&key, |_| true, &guard) else { continue };
            retired = retired.saturating_add(weight);
            if self.is_heard() {
                heard.push((key, weight));
            }
        }
        (true, retired)
    }

    /// Retires entries that `may_go`, those first that the retention would have go first, until
    /// `bytes` of them are gone; how much that was. For values that hold something else which ran
    /// out before the budget did. What is retired drops when no thread looks at it any more.
    ///
    /// `may_go` is called under locks of the cache, and must not call it. Listeners hear of what was
    /// retired as they do of what an insertion retires.
    pub fn shed(&self, bytes: u64, may_go: impl Fn(&K, &V) -> bool) -> Resident {
        let mut shed = Resident::default();
        let mut heard = Vec::new();
        {
            // Before the lock, as in `retire_for`.
            let guard = pin();
            let _choosing = lock(&self.choosing);
            let may_go = |slot: &Slot<K, V>| may_go(&slot.key, &slot.value);
            let residents = self.shards.iter().flat_map(|shard| shard.entries(&guard));
            let residents: Vec<&Slot<K, V>> = residents.filter(|slot| may_go(slot)).collect();
            let candidates: Vec<Candidate> =
                residents.iter().map(|slot| self.candidate(slot)).collect();
            let all = candidates.iter().fold(0, |sum: u64, one| sum.saturating_add(one.bytes));
            let left = Budget { bytes: all.saturating_sub(bytes), ..Budget::UNBOUNDED };
            for at in who_leaves(&*self.config().retention, &candidates, left) {
                if shed.bytes >= bytes {
                    break;
                }
                let key = &residents[at].key;
                if let Some(weight) = self.retire(key, may_go, &guard) {
                    shed.entries += 1;
                    shed.bytes = shed.bytes.saturating_add(weight);
                    heard.push((*key, weight));
                }
            }
        }
        self.let_go(u64::MAX);
        self.tell_evicted(&heard);
        shed
    }

    /// Lists who is to go so that the others are within the low water.
    fn choose(
        &self,
        leaving: &mut Leaving<K>,
        config: &Config,
        newcomer: Option<&Newcomer>,
        guard: &Guard,
    ) {
        let residents: Vec<&Slot<K, V>> =
            self.shards.iter().flat_map(|shard| shard.entries(guard)).collect();
        let candidates: Vec<Candidate> =
            residents.iter().map(|slot| self.candidate(slot)).collect();
        let low_water = beside(config.low_water(), newcomer);
        let mut order = who_leaves(&*config.retention, &candidates, low_water);
        if order.len() == candidates.len() {
            // Few large entries: below the low water there is room for none, within the budget
            // there may be.
            let budget = beside(config.budget.countable(), newcomer);
            order = who_leaves(&*config.retention, &candidates, budget);
        }
        let judged = |slot: &&Slot<K, V>| Judged { key: slot.key, usage: slot.usage.word() };
        leaving.chosen_at = self.clock.tick();
        leaving.queue.clear();
        leaving.queue.extend(order.iter().rev().filter_map(|&at| residents.get(at)).map(judged));
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

    /// The bytes of the entry of `key`, if it was still resident, may go, and is now retired.
    fn retire(
        &self,
        key: &K,
        may_go: impl FnOnce(&Slot<K, V>) -> bool,
        guard: &Guard,
    ) -> Option<u64> {
        let hash = self.hash(key);
        let shard = &self.shards[self.shard_number(hash)];
        let slot = shard.remove_if(hash, key, may_go, guard)?;
        let weight = slot.value.weight();
        self.accounting.release(weight);
        self.ghosts.remember(hash, slot.usage.word());
        self.counts.evicted_entries.add(1);
        self.counts.evicted_bytes.add(weight);
        Some(weight)
    }
}

/// The positions of those that leave for the others to be within `budget`, each once, the first to
/// leave first.
fn who_leaves(retention: &dyn Retention, candidates: &[Candidate], budget: Budget) -> Vec<usize> {
    let mut stays = vec![true; candidates.len()];
    let mut order = retention.leaving(candidates, budget);
    order.retain(|&position| {
        stays.get_mut(position).is_some_and(|stays| std::mem::replace(stays, false))
    });
    let staying = || candidates.iter().zip(&stays).filter(|(_, stays)| **stays);
    let mut held = Resident {
        entries: staying().count() as u64,
        bytes: staying().fold(0, |sum, (candidate, _)| sum.saturating_add(candidate.bytes)),
    };
    // The retention is a caller's: what it forgot is put right here.
    for (position, candidate) in candidates.iter().enumerate().rev() {
        if budget.holds(held) {
            break;
        }
        if stays[position] {
            order.push(position);
            held.entries -= 1;
            held.bytes = held.bytes.saturating_sub(candidate.bytes);
        }
    }
    order
}

/// What of `budget` is left beside `newcomer`.
fn beside(budget: Budget, newcomer: Option<&Newcomer>) -> Budget {
    let adds = newcomer.map_or(Resident::default(), |newcomer| newcomer.adds);
    Budget {
        entries: budget.entries.saturating_sub(adds.entries),
        bytes: budget.bytes.saturating_sub(adds.bytes),
    }
}

fn with(resident: Resident, bytes: u64) -> Resident {
    let Resident { entries, bytes: before } = resident;
    Resident { entries: entries + 1, bytes: before.saturating_add(bytes) }
}

fn without(resident: Resident, bytes: u64) -> Resident {
    let Resident { entries, bytes: before } = resident;
    Resident { entries: entries.saturating_sub(1), bytes: before.saturating_sub(bytes) }
}

/// The running mean of loads from a tier beneath, in nanoseconds. Zero before the first.
#[derive(Debug, Default)]
pub(crate) struct LoadTime(AtomicU64);

impl LoadTime {
    pub(crate) fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Relaxed, and two at once may count as one: an estimate that publishes nothing else.
        let mean = match self.0.load(Ordering::Relaxed) {
            0 => took,
            mean => mean - mean / 16 + took / 16,
        };
        self.0.store(mean.max(1), Ordering::Relaxed);
    }

    fn mean(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&mean| mean > 0).map(Duration::from_nanos)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
