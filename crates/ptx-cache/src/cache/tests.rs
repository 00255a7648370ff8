//! Requests, values and counts.

mod room;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use ptx_key::PtxKey;

use crate::{Cache, CacheError, Computed, Config, Size, Source};

type Texts = Cache<PtxKey, Arc<str>>;

fn key(number: u64) -> PtxKey {
    PtxKey::from_bytes(*ptx_key::Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn text(bytes: usize) -> Computed<Arc<str>> {
    Computed::from(Arc::from("x".repeat(bytes)))
}

fn cache(entries: u64, bytes: u64) -> Texts {
    Cache::new(Config::with_budget(Size { entries, bytes }))
}

fn assert_exact(cache: &Texts) {
    let entries = cache.entries();
    let sums = Size {
        entries: entries.len() as u64,
        bytes: entries.iter().map(|entry| entry.bytes).sum(),
    };
    assert_eq!(cache.snapshot().resident, sums);
}

#[test]
fn the_first_request_makes_and_the_second_hits() {
    let cache = cache(10, 1000);
    let first = cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(5))).unwrap();
    assert_eq!(first.source, Source::Computed);
    let second = cache
        .get_or_compute(key(1), || -> Result<_, CacheError> { panic!("a hit must not make") })
        .unwrap();
    assert_eq!(second.source, Source::Memory);
    assert!(Arc::ptr_eq(&first.value, &second.value));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.hits, snapshot.misses, snapshot.computed), (1, 1, 1));
    assert_eq!(snapshot.resident, Size { entries: 1, bytes: 5 });
    cache.clear();
    let cleared = cache.snapshot();
    assert_eq!((cleared.hits, cleared.misses, cleared.computed), (0, 0, 0));
    assert_eq!(cleared.resident, Size::default());
    assert!(cache.get(&key(1)).is_none());
}

#[test]
fn a_borrowed_value_outlives_its_removal_while_pinned() {
    let cache = cache(10, 1000);
    cache.insert(key(1), text(5));
    let pinned = cache.pin();
    let borrowed = pinned.get(&key(1)).unwrap();
    assert_eq!(cache.remove(&key(1)).as_deref(), Some("xxxxx"));
    assert!(pinned.get(&key(1)).is_none());
    assert_eq!(&**borrowed, "xxxxx");
    assert_exact(&cache);
}

#[test]
fn inserting_again_replaces_and_counts_once() {
    let cache = cache(10, 1000);
    assert!(cache.insert(key(1), text(5)));
    assert!(cache.insert(key(1), text(9)));
    assert_eq!(cache.get(&key(1)).unwrap().len(), 9);
    assert_eq!(cache.snapshot().resident, Size { entries: 1, bytes: 9 });
}

#[test]
fn one_making_serves_all_who_ask_at_once() {
    let cache = cache(10, 1000);
    let makings = AtomicUsize::new(0);
    let all_here = Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                all_here.wait();
                let make = || {
                    makings.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(30));
                    Ok::<_, CacheError>(text(7))
                };
                assert_eq!(cache.get_or_compute(key(1), make).unwrap().value.len(), 7);
            });
        }
    });
    assert_eq!(makings.load(Ordering::SeqCst), 1);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.computed, 1);
    assert_eq!(snapshot.shared + snapshot.hits, 15);
    assert_eq!(snapshot.hits + snapshot.misses, 16);
}

#[derive(Debug, thiserror::Error)]
#[error("the emitter knows no tan")]
struct NoTan;

#[test]
fn an_error_reaches_all_who_waited_and_the_next_request_makes_again() {
    let cache = cache(10, 1000);
    let all_here = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                all_here.wait();
                let make = || {
                    thread::sleep(Duration::from_millis(20));
                    Err(NoTan)
                };
                let error = cache.get_or_compute(key(1), make).unwrap_err();
                assert!(error.lowering_error::<NoTan>().is_some(), "{error}");
            });
        }
    });
    assert_eq!(cache.snapshot().failed, 4);
    assert!(cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(1))).is_ok());
    assert_exact(&cache);
}

#[test]
fn a_panic_wakes_those_who_wait_and_goes_on_in_its_own_thread() {
    let cache = cache(10, 1000);
    let leading = Barrier::new(2);
    thread::scope(|scope| {
        let leader = scope.spawn(|| {
            cache.get_or_compute(key(1), || -> Result<_, CacheError> {
                leading.wait();
                thread::sleep(Duration::from_millis(50));
                panic!("the emitter's own")
            })
        });
        leading.wait();
        let waiter = cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(3)));
        // Who came before the panic gets an error, who came after it makes the value.
        match waiter {
            Err(error) => assert!(matches!(error, CacheError::Panicked)),
            Ok(served) => assert_eq!(served.source, Source::Computed),
        }
        let panic = leader.join().unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the emitter's own"));
    });
    assert!(cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(3))).is_ok());
    assert_exact(&cache);
}

#[test]
fn asking_for_the_key_that_one_is_making_is_an_error() {
    let cache = cache(10, 1000);
    let outer = cache.get_or_compute(key(1), || {
        let inner = cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(1)));
        assert!(matches!(inner, Err(CacheError::Reentry)));
        inner.map(|served| Computed::from(served.value))
    });
    assert!(outer.is_err());
    assert!(cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(1))).is_ok());
}

#[test]
fn makings_may_ask_for_other_keys_in_a_chain() {
    fn sum(cache: &Texts, depth: u64) -> Result<Arc<str>, CacheError> {
        let make = || {
            let below = if depth == 0 { 0 } else { sum(cache, depth - 1)?.len() };
            Ok::<_, CacheError>(text(below + 1))
        };
        cache.get_or_compute(key(depth), make).map(|served| served.value)
    }
    let cache = cache(100, 100_000);
    assert_eq!(sum(&cache, 20).unwrap().len(), 21);
    assert_eq!(cache.snapshot().resident.entries, 21);
}

#[test]
fn makings_that_wait_for_each_other_are_a_circle_and_not_a_hang() {
    let cache = cache(10, 1000);
    let both_lead = Barrier::new(2);
    let ask = |mine: u64, other: u64| {
        cache.get_or_compute(key(mine), || {
            both_lead.wait();
            cache
                .get_or_compute(key(other), || Ok::<_, CacheError>(text(1)))
                .map(|it| Computed::from(it.value))
        })
    };
    let (one, two) = thread::scope(|scope| {
        let two = scope.spawn(|| ask(2, 1));
        (ask(1, 2), two.join().unwrap())
    });
    // One of the two is told of the circle and fails; the other waited for it and fails with it.
    let circle = |result: &Result<_, CacheError>| {
        result.as_ref().err().is_some_and(|error| error.to_string().contains("circle"))
    };
    assert!(circle(&one) && circle(&two), "{one:?} {two:?}");
}

#[test]
fn keys_that_are_no_digests_are_hashed_by_ahash() {
    let cache: Cache<u64, Arc<str>, ahash::RandomState> =
        Cache::with_hasher(Config::default(), ahash::RandomState::new());
    for number in 0..10_000 {
        cache.insert(number, Computed::from(Arc::from(number.to_string())));
    }
    for number in 0..10_000 {
        assert_eq!(cache.get(&number).as_deref(), Some(&*number.to_string()));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, usize),
    Make(u64, usize),
    Get(u64),
    Remove(u64),
    Clear,
    Reconfigure(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u64..40;
    let bytes = 0_usize..120;
    prop_oneof![
        6 => (key.clone(), bytes.clone()).prop_map(|(key, bytes)| Step::Insert(key, bytes)),
        4 => (key.clone(), bytes).prop_map(|(key, bytes)| Step::Make(key, bytes)),
        4 => key.clone().prop_map(Step::Get),
        2 => key.prop_map(Step::Remove),
        1 => Just(Step::Clear),
        1 => (0_u64..30, 0_u64..1500).prop_map(|(entries, bytes)| Step::Reconfigure(entries, bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Against a plain map: a resident value is always the last one written, the counts are the
    /// sums, and the budget holds after every step.
    #[test]
    fn any_sequence_of_operations_keeps_values_counts_and_budget(
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let mut budget = Size { entries: 20, bytes: 1000 };
        let cache = cache(budget.entries, budget.bytes);
        let mut written = std::collections::HashMap::new();
        for step in steps {
            match step {
                Step::Insert(number, bytes) => {
                    let kept = cache.insert(key(number), text(bytes));
                    let fits = budget.entries > 0 && bytes as u64 <= budget.bytes;
                    prop_assert!(fits || !kept);
                    let first = !written.contains_key(&number);
                    let is_judged = !first || bytes as u64 > budget.bytes / 2;
                    prop_assert!(kept || !fits || is_judged, "what is new is kept if it fits");
                    prop_assert_eq!(cache.get(&key(number)).map(|text| text.len()), kept.then_some(bytes));
                    written.insert(number, bytes);
                }
                Step::Make(number, bytes) => {
                    let served = cache
                        .get_or_compute(key(number), || Ok::<_, CacheError>(text(bytes)))
                        .unwrap();
                    if served.source == Source::Computed {
                        written.insert(number, bytes);
                    }
                    prop_assert_eq!(Some(&served.value.len()), written.get(&number));
                }
                Step::Get(number) => {
                    if let Some(value) = cache.get(&key(number)) {
                        prop_assert_eq!(Some(&value.len()), written.get(&number));
                    }
                }
                Step::Remove(number) => {
                    cache.remove(&key(number));
                    prop_assert!(cache.get(&key(number)).is_none());
                }
                Step::Clear => {
                    cache.clear();
                    prop_assert_eq!(cache.snapshot().resident, Size::default());
                }
                Step::Reconfigure(entries, bytes) => {
                    budget = Size { entries, bytes };
                    cache.reconfigure(Config::with_budget(budget));
                }
            }
            let resident = cache.snapshot().resident;
            prop_assert!(resident.fits(budget), "{:?} over {:?}", resident, budget);
            assert_exact(&cache);
        }
    }
}
