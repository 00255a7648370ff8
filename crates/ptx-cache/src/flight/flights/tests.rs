//! Models of single flight: one leader, waiters that always wake, and no deadlock.

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

use super::*;
use crate::sync::model;

fn result<V: Clone>(flight: &Flight<V>) -> Result<V, CacheError> {
    match flight.wait()? {
        Ending::Landed(result) => result,
        Ending::Abandoned => panic!("nobody abandons a flight in this model"),
    }
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
