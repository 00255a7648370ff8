//! Models of the small cores, run under the interleavings and reorderings that loom explores:
//! `RUSTFLAGS="--cfg loom --cfg crossbeam_loom" cargo test -p ptx-cache --release --lib loom_models`.
//!
//! `cargo xtask mutation ptx-cache` weakens the code one place at a time (the places are listed in
//! `xtask/src/mutation/weakenings.rs`) and says which model notices.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

use crate::accounting::Accounting;
use crate::flight::{Ending, Flight, Flights, Joined};
use crate::policy::Usage;
use crate::table::Shard;
use crate::table::{About, Slot};
use crate::{CacheError, Size};

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

fn result<V: Clone>(flight: &Flight<V>) -> Result<V, CacheError> {
    match flight.wait()? {
        Ending::Landed(result) => result,
        Ending::Abandoned => panic!("nobody abandons a flight in this model"),
    }
}

fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
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

/// Single flight: of two threads that miss at once one computes the value, and both get it.
#[test]
fn a_value_is_computed_once_for_two_who_miss_at_once() {
    model(3, || {
        let flights = Arc::new(Flights::new(ahash::RandomState::with_seeds(1, 2, 3, 4)));
        // Zero stands for a value that is not published.
        let published = Arc::new(AtomicUsize::new(0));
        let computations = Arc::new(AtomicUsize::new(0));
        let ask = {
            let (flights, published, computations) =
                (Arc::clone(&flights), Arc::clone(&published), Arc::clone(&computations));
            move || {
                let look = || Some(published.load(Ordering::Acquire)).filter(|value| *value != 0);
                let value = match flights.join(7_u64, look) {
                    Joined::Published(value) => Ok(value),
                    Joined::Waiting(flight) => result(&flight),
                    Joined::Leading(leader) => {
                        computations.fetch_add(1, Ordering::Relaxed);
                        published.store(42, Ordering::Release);
                        leader.land(Ok(42));
                        Ok(42)
                    }
                };
                assert_eq!(value.ok(), Some(42));
            }
        };
        let other = thread::spawn(ask.clone());
        ask();
        other.join().unwrap();
        assert_eq!(computations.load(Ordering::Relaxed), 1);
    });
}

/// Single flight: a leader that lands as panicked wakes its waiter.
#[test]
fn a_leader_that_panics_wakes_its_waiter() {
    model(3, || {
        let flights = Arc::new(Flights::new(ahash::RandomState::with_seeds(1, 2, 3, 4)));
        let leader = {
            let flights = Arc::clone(&flights);
            thread::spawn(move || match flights.join(7_u64, || None::<u64>) {
                Joined::Leading(leader) => leader.land(Err(CacheError::Panicked)),
                Joined::Waiting(flight) => {
                    assert!(matches!(result(&flight), Err(CacheError::Panicked)));
                }
                Joined::Published(_) => unreachable!(),
            })
        };
        match flights.join(7, || None) {
            Joined::Leading(leader) => leader.land(Err(CacheError::Panicked)),
            Joined::Waiting(flight) => {
                assert!(matches!(result(&flight), Err(CacheError::Panicked)));
            }
            Joined::Published(_) => unreachable!(),
        }
        leader.join().unwrap();
        assert!(matches!(flights.join(7, || None), Joined::Leading(_)));
    });
}

/// Single flight: two miss at once and the first leader gives up. One computes the value, and the
/// other gets it or gave up itself.
#[test]
fn an_abandoned_flight_is_taken_over() {
    model(3, || {
        let flights = Arc::new(Flights::new(ahash::RandomState::with_seeds(1, 2, 3, 4)));
        let given_up = Arc::new(AtomicBool::new(false));
        let ask = {
            let (flights, given_up) = (Arc::clone(&flights), Arc::clone(&given_up));
            move || loop {
                match flights.join(7_u64, || None::<u64>) {
                    Joined::Published(_) => unreachable!(),
                    Joined::Waiting(flight) => match flight.wait().unwrap() {
                        Ending::Landed(result) => break result.unwrap(),
                        Ending::Abandoned => {}
                    },
                    Joined::Leading(leader) => {
                        if given_up.swap(true, Ordering::Relaxed) {
                            leader.land(Ok(42));
                            break 42;
                        }
                        drop(leader);
                    }
                }
            }
        };
        let other = thread::spawn(ask.clone());
        assert_eq!(ask(), 42);
        assert_eq!(other.join().unwrap(), 42);
    });
}

/// Deadlock: of two leaders that ask for each other's key at least one is refused, and neither
/// hangs.
#[test]
fn two_leaders_that_wait_for_each_other_do_not_hang() {
    model(2, || {
        let flights = Arc::new(Flights::new(ahash::RandomState::with_seeds(1, 2, 3, 4)));
        let lead = |flights: &Flights<u64, u64, _>, mine: u64, other: u64| {
            let Joined::Leading(leader) = flights.join(mine, || None) else {
                return;
            };
            let running = leader.computation().run();
            let result = match flights.join(other, || None) {
                Joined::Waiting(flight) => result(&flight),
                Joined::Leading(inner) => {
                    inner.land(Ok(other));
                    Ok(other)
                }
                Joined::Published(_) => unreachable!(),
            };
            drop(running);
            leader.land(result);
        };
        let other = {
            let flights = Arc::clone(&flights);
            thread::spawn(move || lead(&flights, 1, 2))
        };
        lead(&flights, 2, 1);
        other.join().unwrap();
    });
}

/// Counters: two reservations at once never exceed the budget together.
#[test]
fn two_reservations_at_once_keep_to_the_budget() {
    model(3, || {
        let accounting = Arc::new(Accounting::new());
        let reserve = |accounting: &Accounting| {
            usize::from(accounting.reserve(6, Size { entries: 2, bytes: 10 }))
        };
        let other = {
            let accounting = Arc::clone(&accounting);
            thread::spawn(move || reserve(&accounting))
        };
        let reserved = reserve(&accounting) + other.join().unwrap();
        assert_eq!(reserved, 1);
        assert_eq!(accounting.resident(), Size { entries: 1, bytes: 6 });
    });
}

/// Counters: what two threads reserve and release at once leaves nothing behind.
#[test]
fn reservations_and_releases_at_once_leave_nothing() {
    model(3, || {
        let accounting = Arc::new(Accounting::new());
        let pass = |accounting: &Accounting, weight: u64| {
            assert!(accounting.reserve(weight, Size::UNBOUNDED));
            accounting.release(weight);
        };
        let other = {
            let accounting = Arc::clone(&accounting);
            thread::spawn(move || pass(&accounting, 7))
        };
        pass(&accounting, 6);
        other.join().unwrap();
        assert_eq!(accounting.resident(), Size::default());
    });
}
