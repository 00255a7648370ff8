//! The leader's guard in the hands of a caller with another control flow.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ptx_cache::{
    Cache, CacheError, Candidate, Config, Entered, FailureMemory, Lead, Retention, Size, Source,
};
use ptx_key::PtxKey;

type Texts = Cache<PtxKey, Arc<str>>;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

fn text() -> Arc<str> {
    "text".into()
}

fn lead(cache: &Texts, number: u8) -> Lead<'_, PtxKey, Arc<str>> {
    match cache.enter(key(number)).unwrap() {
        Entered::Lead(lead) => lead,
        Entered::Served(served) => panic!("nobody computed it: {served:?}"),
    }
}

/// The error of a request that gets none of the two.
fn refused(cache: &Texts, number: u8) -> CacheError {
    cache.enter(key(number)).map(drop).unwrap_err()
}

/// Runs `work` on a thread of its own, and says so if it hangs: far longer than it can take.
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, waits) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    match waits.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => worker.join().unwrap(),
    }
}

fn until_one_waits(waiting: impl Fn() -> u64) {
    while waiting() == 0 {
        thread::yield_now();
    }
}

#[test]
fn a_batch_of_leads_may_end_in_any_order() {
    ends(|| {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let cache = Texts::new(Config::default());
            let mut leads = [0, 1, 2].map(|number| Some(lead(&cache, number)));
            for number in order {
                // A request for a key that this thread leads could only wait for itself.
                assert!(matches!(refused(&cache, number), CacheError::Reentry));
                let lead = leads[usize::from(number)].take().unwrap();
                assert_eq!(lead.publish(text()).source, Source::Computed);
            }
            // They leave nothing behind in the thread.
            let last = lead(&cache, 9);
            assert!(matches!(refused(&cache, 9), CacheError::Reentry));
            drop(last);
            assert_eq!(cache.snapshot().computed, 3);
        }
    });
}

#[test]
fn a_lead_that_is_dropped_makes_a_waiter_lead() {
    ends(|| {
        let cache = Texts::new(Config::default());
        thread::scope(|scope| {
            let first = lead(&cache, 1);
            let cache = &cache;
            let compute = || Ok::<_, CacheError>(text().into());
            let waiter = scope.spawn(move || cache.get_or_compute(key(1), compute));
            until_one_waits(|| cache.snapshot().waiting);
            drop(first);
            assert_eq!(waiter.join().unwrap().unwrap().source, Source::Computed);
        });
        let snapshot = cache.snapshot();
        assert_eq!((snapshot.computed, snapshot.failed, snapshot.misses), (1, 0, 1));
    });
}

#[test]
fn a_lead_that_fails_or_panics_tells_its_waiters_why() {
    ends(|| {
        for panics in [false, true] {
            let cache = Texts::new(Config::default());
            thread::scope(|scope| {
                let cache = &cache;
                let (begun, begins) = mpsc::channel();
                let leader = scope.spawn(move || {
                    let lead = lead(cache, 1);
                    begun.send(()).unwrap();
                    until_one_waits(|| cache.snapshot().waiting);
                    assert!(!panics, "a lowering's bug");
                    drop(lead.fail(std::fmt::Error));
                });
                begins.recv().unwrap();
                assert_eq!(matches!(refused(cache, 1), CacheError::Panicked), panics);
                assert_eq!(leader.join().is_err(), panics);
            });
            let snapshot = cache.snapshot();
            assert_eq!((snapshot.failed, snapshot.misses, snapshot.waiting), (2, 2, 0));
        }
    });
}

/// A retention that panics in a full cache.
struct Broken;

impl Retention for Broken {
    fn victims(&self, _: &[Candidate], _: Size) -> Vec<usize> {
        panic!("a retention's bug")
    }

    fn worth(&self, _: &Candidate) -> f64 {
        1.0
    }
}

#[test]
fn a_retention_that_panics_in_a_publish_is_one_failure() {
    let budget = Size { entries: 1, bytes: 100 };
    let config = Config { retention: Arc::new(Broken), ..Config::with_budget(budget) };
    let cache = Texts::new(config);
    cache.insert(key(0), text());
    let publish = || lead(&cache, 1).publish(text());
    assert!(catch_unwind(AssertUnwindSafe(publish)).is_err());
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.misses, snapshot.computed, snapshot.failed), (1, 0, 1));
}

/// What is remembered while the settings change.
#[test]
fn a_failure_is_served_only_while_the_settings_say_so() {
    let failures = FailureMemory {
        lasts: Duration::from_secs(3600),
        most: 8,
        is_deterministic: Arc::new(|_| true),
    };
    let remembering = Config { failures: Some(failures), ..Config::default() };
    let cache = Texts::new(remembering.clone());
    drop(lead(&cache, 1).fail(std::fmt::Error));
    assert!(cache.enter(key(1)).is_err(), "it is remembered");
    cache.reconfigure(Config::default());
    drop(lead(&cache, 1));
    cache.reconfigure(remembering);
    drop(lead(&cache, 1));
}

/// A key whose hash panics on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fragile(u64);

static BREAKS: AtomicBool = AtomicBool::new(false);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!BREAKS.load(Ordering::SeqCst), "a hash's bug");
        state.write_u64(self.0);
    }
}

#[derive(Clone)]
struct AsItIs;

struct Number(u64);

impl BuildHasher for AsItIs {
    type Hasher = Number;

    fn build_hasher(&self) -> Number {
        Number(0)
    }
}

impl Hasher for Number {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_hash_that_panics_keeps_no_waiter_asleep() {
    ends(|| {
        let cache: Cache<Fragile, Arc<str>, AsItIs> = Cache::with_hasher(Config::default(), AsItIs);
        thread::scope(|scope| {
            let Entered::Lead(lead) = cache.enter(Fragile(7)).unwrap() else { panic!("served") };
            let waiter = scope.spawn(|| cache.enter(Fragile(7)).map(drop));
            until_one_waits(|| cache.snapshot().waiting);
            BREAKS.store(true, Ordering::SeqCst);
            assert!(catch_unwind(AssertUnwindSafe(|| lead.publish(text()))).is_err());
            assert!(matches!(waiter.join().unwrap(), Err(CacheError::Panicked)));
            BREAKS.store(false, Ordering::SeqCst);
        });
        assert!(matches!(cache.enter(Fragile(7)), Ok(Entered::Lead(_))), "no flight is left");
    });
}
