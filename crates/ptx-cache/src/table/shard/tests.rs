//! Models of one shard: what a reader sees while a writer publishes, replaces, grows and removes.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::*;
use crate::policy::Usage;
use crate::sync::model;
use crate::table::About;

/// A value that says whether it was dropped.
struct Watched {
    number: u64,
    dropped: Arc<AtomicBool>,
}

impl Watched {
    fn new(number: u64) -> (Self, Arc<AtomicBool>) {
        let dropped = Arc::new(AtomicBool::new(false));
        (Self { number, dropped: Arc::clone(&dropped) }, dropped)
    }

    fn assert_alive(&self, number: u64) {
        assert_eq!(self.number, number);
        assert!(!self.dropped.load(Ordering::SeqCst), "a value was dropped under a reader");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        assert!(!self.dropped.swap(true, Ordering::SeqCst), "a value was dropped twice");
    }
}

fn slot(key: u64, value: Watched) -> Slot<u64, Watched> {
    let about =
        About { cost: std::time::Duration::ZERO, in_lower_tier: false, family: 0, born_seconds: 0 };
    Slot::new(key, value, about, Usage::once(0))
}

fn insert(shard: &Shard<u64, Watched>, key: u64, number: u64) {
    let guard = crossbeam_epoch::pin();
    let _ = shard.insert(key, slot(key, Watched::new(number).0), |key| *key, |_| true, &guard);
}

/// Publish: a reader that finds a slot finds it whole.
#[test]
fn a_published_slot_is_seen_whole() {
    model(3, || {
        let shard = Arc::new(Shard::<u64, Watched>::new());
        let reader = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let guard = crossbeam_epoch::pin();
                if let Some(found) = shard.get(1, &1, &guard) {
                    found.value.assert_alive(10);
                }
            })
        };
        insert(&shard, 1, 10);
        reader.join().unwrap();
    });
}

/// Replace: while a key's value is replaced, a reader finds the old value or the new one.
#[test]
fn a_replaced_key_is_never_absent() {
    model(3, || {
        let shard = Arc::new(Shard::<u64, Watched>::new());
        insert(&shard, 1, 10);
        let reader = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let guard = crossbeam_epoch::pin();
                let found = shard.get(1, &1, &guard).expect("a replaced key was absent");
                found.value.assert_alive(found.value.number);
            })
        };
        insert(&shard, 1, 20);
        reader.join().unwrap();
        let guard = crossbeam_epoch::pin();
        assert_eq!(shard.get(1, &1, &guard).map(|slot| slot.value.number), Some(20));
    });
}

/// Grow: while the table is replaced by a larger one, every entry is found.
#[test]
fn entries_are_found_while_the_table_is_replaced() {
    model(2, || {
        let shard = Arc::new(Shard::<u64, Watched>::new());
        (0..7).for_each(|key| insert(&shard, key, key * 10));
        let reader = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let guard = crossbeam_epoch::pin();
                let found = shard.get(3, &3, &guard).expect("an entry was lost in the move");
                found.value.assert_alive(30);
            })
        };
        insert(&shard, 7, 70);
        reader.join().unwrap();
    });
}

/// Retire: a removed value is not dropped while a reader may look at it.
#[test]
fn a_removed_value_outlives_its_readers() {
    model(2, || {
        let shard = Arc::new(Shard::<u64, Watched>::new());
        insert(&shard, 1, 10);
        let reader = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let guard = crossbeam_epoch::pin();
                if let Some(found) = shard.get(1, &1, &guard) {
                    thread::yield_now();
                    found.value.assert_alive(10);
                }
            })
        };
        let guard = crossbeam_epoch::pin();
        shard.remove_if(1, &1, |_| true, &guard);
        guard.flush();
        drop(guard);
        // Enough pins for the epoch to pass twice where no reader holds it.
        (0..3).for_each(|_| crossbeam_epoch::pin().flush());
        reader.join().unwrap();
    });
}
