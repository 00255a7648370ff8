//! Making room: the insertion that meets a full budget chooses who stays and retires the others.
//!
//! Hits go on meanwhile, and so do lowerings of other keys; only insertions that need room wait.

use std::hash::{BuildHasher, Hash};

use crossbeam_epoch::{Guard, pin};

use crate::slot::Slot;
use crate::sync::lock;
use crate::{Budget, Cache, Candidate, Event, Resident, Weigh};

impl<K, V, S> Cache<K, V, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Weigh + Clone + Send + Sync + 'static,
    S: BuildHasher + Clone,
{
    /// Retires residents down to the low water, with room for an entry of `incoming` bytes on top.
    ///
    /// Listeners hear of what was retired after the lock is released: they may call the cache.
    pub(crate) fn make_room(&self, incoming: Option<u64>) {
        for (key, bytes) in self.choose_and_retire(incoming) {
            self.tell(Event::Evicted { key: &key, bytes });
        }
    }

    /// The keys and bytes of what was retired, if anybody listens.
    fn choose_and_retire(&self, incoming: Option<u64>) -> Vec<(K, u64)> {
        let _choosing = lock(&self.choosing);
        let config = self.config();
        let beside = |budget: Budget| match incoming {
            Some(weight) => Budget {
                entries: budget.entries.saturating_sub(1),
                bytes: budget.bytes.saturating_sub(weight),
            },
            None => budget,
        };
        let most = beside(config.budget.countable());
        let mut heard = Vec::new();
        if most.holds(self.accounting.resident()) {
            return heard;
        }
        let guard = pin();
        let mut residents: Vec<&Slot<K, V>> =
            self.shards.iter().flat_map(|shard| shard.entries(&guard)).collect();
        // Retention breaks ties by position: the same keys come in the same order in every run.
        residents.sort_unstable_by_key(|slot| self.hash(&slot.key));
        self.clock.fit(residents.len());
        let tick = self.clock.tick();
        let candidates: Vec<Candidate> =
            residents.iter().map(|slot| candidate(slot, tick)).collect();
        let mut kept = within(beside(config.low_water()), &candidates, &*config.retention);
        if !kept.contains(&true) {
            // Few large entries: below the low water there is room for none, within the budget
            // there may be.
            kept = within(most, &candidates, &*config.retention);
        }
        for (slot, _) in residents.iter().zip(kept).filter(|(_, kept)| !kept) {
            let weight = self.retire(slot, &guard);
            heard.extend(weight.filter(|_| self.is_heard()).map(|weight| (slot.key, weight)));
        }
        guard.flush();
        heard
    }

    /// The bytes of the entry at `slot`, if it was still resident and is now retired.
    fn retire(&self, slot: &Slot<K, V>, guard: &Guard) -> Option<u64> {
        let hash = self.hash(&slot.key);
        let shard = &self.shards[self.shard_number(hash)];
        // An entry that took this one's place in the meantime was not judged and stays. One that
        // moved to a new table is another slot with the same usage: it is judged next time.
        let same = |current: &Slot<K, V>| std::ptr::eq(current, slot);
        let weight = shard.remove_if(hash, &slot.key, same, guard)?.value.weight();
        self.accounting.release(weight);
        self.ghosts.remember(hash, slot.usage.word());
        self.counts.evicted_entries.add(1);
        self.counts.evicted_bytes.add(weight);
        Some(weight)
    }
}

fn candidate<K, V: Weigh>(slot: &Slot<K, V>, tick: u32) -> Candidate {
    let uses = slot.usage.at(tick);
    Candidate {
        bytes: slot.value.weight(),
        uses: uses.count,
        idle: uses.idle,
        interval: uses.interval,
        cost: slot.cost(),
        family: slot.family,
    }
}

/// Which candidates the retention keeps, cut to the budget.
fn within(budget: Budget, candidates: &[Candidate], retention: &dyn crate::Retention) -> Vec<bool> {
    let mut kept = vec![false; candidates.len()];
    let mut held = Resident::default();
    for position in retention.keep(candidates, budget) {
        let Some((place, candidate)) = kept.get_mut(position).zip(candidates.get(position)) else {
            continue;
        };
        let grown = Resident {
            entries: held.entries + 1,
            bytes: held.bytes.saturating_add(candidate.bytes),
        };
        if !*place && budget.holds(grown) {
            *place = true;
            held = grown;
        }
    }
    kept
}
