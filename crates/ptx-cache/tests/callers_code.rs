//! The caller's own code, wherever the cache calls it, does the worst it may.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use ptx_cache::{Cache, CacheError, Computed, Config, Event, FailureMemory, Size, Weigh};
use ptx_key::PtxKey;

type Texts = Cache<PtxKey, Arc<str>>;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

/// Keys that share a shard with each other.
fn neighbour(number: u8) -> PtxKey {
    let mut bytes = [0; 32];
    (bytes[0], bytes[7]) = (number, number);
    PtxKey::from_bytes(bytes)
}

fn text(bytes: usize) -> Computed<Arc<str>> {
    Computed::from(Arc::from("x".repeat(bytes)))
}

/// Runs `work` on a thread of its own, and says so if it hangs: far longer than it can take.
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, waits) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    match waits.recv_timeout(Duration::from_secs(120)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => worker.join().unwrap(),
    }
}

/// Counts down at each hash of a [`Fragile`] key, and unwinds at zero.
static HASHES_LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Fragile(u64);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if HASHES_LEFT.fetch_sub(1, Ordering::SeqCst) == 0 {
            resume_unwind(Box::new("a hash"));
        }
        state.write_u64(self.0);
    }
}

#[derive(Clone)]
struct AsItIs;

impl BuildHasher for AsItIs {
    type Hasher = Number;

    fn build_hasher(&self) -> Number {
        Number(0)
    }
}

struct Number(u64);

impl Hasher for Number {
    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_hash_that_panics_while_a_table_grows_leaves_values_and_counts_as_they_were() {
    let cache: Cache<Fragile, Arc<str>, AsItIs> = Cache::with_hasher(Config::default(), AsItIs);
    let values: Vec<Arc<str>> = (0..7_u64).map(|number| number.to_string().into()).collect();
    for (number, value) in (0..).zip(&values) {
        cache.insert(Fragile(number), Computed::from(Arc::clone(value)));
    }
    for survived in 0..4 {
        HASHES_LEFT.store(survived, Ordering::SeqCst);
        let insert = || cache.insert(Fragile(9), Computed::from(Arc::from("nine")));
        assert!(catch_unwind(AssertUnwindSafe(insert)).is_err(), "{survived} hashes");
        HASHES_LEFT.store(i64::MAX, Ordering::SeqCst);
        let counts: Vec<usize> = values.iter().map(Arc::strong_count).collect();
        assert_eq!(counts, [2; 7], "a value was dropped that is still resident");
        assert_eq!(cache.snapshot().resident, Size { entries: 7, bytes: 7 });
    }
    assert!(cache.insert(Fragile(9), Computed::from(Arc::from("nine"))));
}

#[test]
fn a_value_that_is_not_kept_takes_the_old_one_with_it() {
    let cache = Texts::new(Config::with_budget(Size { entries: 10, bytes: 100 }));
    assert!(cache.insert(key(1), text(3)));
    assert!(!cache.insert(key(1), text(101)));
    assert!(cache.get(&key(1)).is_none());
    assert_eq!(cache.snapshot().resident, Size::default());
}

#[test]
fn replacing_a_value_in_a_full_cache_costs_no_other_its_place() {
    let cache = Texts::new(Config::with_budget(Size { entries: 100, bytes: 500 }));
    (0..100).for_each(|number| assert!(cache.insert(key(number), text(5))));
    assert!(cache.insert(key(3), text(5)));
    assert!(cache.insert(key(4), text(1)));
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.resident, Size { entries: 100, bytes: 496 });
    assert_eq!(snapshot.evicted.entries, 0);
}

#[test]
fn a_budget_that_shrinks_beside_insertions_is_met_when_both_are_done() {
    let cache = Texts::new(Config::default());
    let large = Config::with_budget(Size { entries: 1000, bytes: 1000 });
    let small = Config::with_budget(Size { entries: 1000, bytes: 10 });
    for round in 0..2_000_u32 {
        cache.clear();
        cache.reconfigure(large.clone());
        thread::scope(|scope| {
            scope.spawn(|| cache.insert(key(1), text(500)));
            (0..round % 50).for_each(|_| thread::yield_now());
            cache.reconfigure(small.clone());
        });
        let resident = cache.snapshot().resident;
        assert!(resident.bytes <= 10, "round {round}: {resident:?}");
    }
}

#[test]
fn a_listener_may_ask_for_the_key_that_is_being_made() {
    ends(|| {
        let cache = Arc::new(OnceLock::<Texts>::new());
        let refused = Arc::new(AtomicUsize::new(0));
        let listener = {
            let (cache, refused) = (Arc::clone(&cache), Arc::clone(&refused));
            move |event: &Event<'_, PtxKey>| {
                let (Event::Evicted { .. }, Some(cache)) = (event, cache.get()) else { return };
                let asked = cache.get_or_compute(key(2), || Ok::<_, CacheError>(text(1)));
                assert!(matches!(asked, Err(CacheError::Reentry)));
                refused.fetch_add(1, Ordering::SeqCst);
            }
        };
        let config = Config::with_budget(Size { entries: 1, bytes: 100 });
        assert!(cache.set(Cache::new(config).with_listener(Arc::new(listener))).is_ok());
        let cache = cache.get().unwrap();
        cache.insert(key(1), text(1));
        cache.get_or_compute(key(2), || Ok::<_, CacheError>(text(1))).unwrap();
        assert_eq!(refused.load(Ordering::SeqCst), 1);
    });
}

static ASKED_BY_DROPS: OnceLock<Cache<PtxKey, Asking>> = OnceLock::new();

#[derive(Clone)]
struct Asking(Arc<AsksWhenDropped>);

struct AsksWhenDropped;

impl Weigh for Asking {
    fn weight(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }
}

impl Drop for AsksWhenDropped {
    fn drop(&mut self) {
        if let Some(cache) = ASKED_BY_DROPS.get() {
            // An error is fine; an answer is what matters.
            let _ = cache.get_or_compute(neighbour(255), || Err::<Computed<Asking>, _>("refused"));
        }
    }
}

#[test]
fn a_drop_may_ask_the_cache_that_retired_it() {
    ends(|| {
        let cache = ASKED_BY_DROPS.get_or_init(|| Cache::new(Config::default()));
        for number in (0..100).cycle().take(20_000) {
            cache.insert(neighbour(1), Computed::from(Asking(Arc::new(AsksWhenDropped))));
            let asked = cache.get_or_compute(neighbour(2 + number), || Err("refused"));
            assert!(asked.is_err());
        }
    });
}

static FILLED_BY_DROPS: OnceLock<Cache<PtxKey, Inserting>> = OnceLock::new();

/// Inserts another when it is dropped, which inserts none.
#[derive(Clone)]
struct Inserting(
    #[expect(dead_code, reason = "held to be dropped")] Option<Arc<InsertsWhenDropped>>,
);

struct InsertsWhenDropped;

impl Weigh for Inserting {
    fn weight(&self) -> u64 {
        1
    }
}

impl Drop for InsertsWhenDropped {
    fn drop(&mut self) {
        if let Some(cache) = FILLED_BY_DROPS.get() {
            cache.insert(neighbour(255), Computed::from(Inserting(None)));
        }
    }
}

#[test]
fn a_drop_may_insert_into_the_full_cache_that_retired_it() {
    ends(|| {
        let budget = Size { entries: 4, bytes: 1 << 20 };
        let cache = FILLED_BY_DROPS.get_or_init(|| Cache::new(Config::with_budget(budget)));
        for number in (0..100).cycle().take(20_000) {
            let inserting = Inserting(Some(Arc::new(InsertsWhenDropped)));
            cache.insert(neighbour(number), Computed::from(inserting));
            // A pin in 128 drops: not always the same of an insertion.
            for _ in 0..number % 5 {
                assert!(cache.get(&neighbour(254)).is_none());
            }
        }
        for number in (0..100).cycle().take(20_000) {
            let inserting = Inserting(Some(Arc::new(InsertsWhenDropped)));
            cache.insert(neighbour(number), Computed::from(inserting));
            if number % 3 == 0 {
                cache.remove(&neighbour(255));
                cache.insert(neighbour(254 - number % 2), Computed::from(Inserting(None)));
                cache.evict_where(1, |_, _| false);
            }
        }
    });
}

fn remembers_everything() -> Config {
    let failures = FailureMemory {
        lasts: Duration::from_secs(3600),
        most: 8,
        is_deterministic: Arc::new(|_| true),
    };
    Config { failures: Some(failures), ..Config::default() }
}

#[test]
fn a_refused_wait_that_a_lowering_passes_on_is_not_remembered() {
    let cache = Texts::new(remembers_everything());
    let inner = || cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(1)));
    let outer = cache.get_or_compute(key(1), || inner().map(|served| Computed::from(served.value)));
    assert!(matches!(outer, Err(CacheError::Reentry)));
    assert!(inner().is_ok());
}

#[test]
fn failures_are_forgotten_when_they_are_no_longer_to_be_remembered() {
    let cache = Texts::new(remembers_everything());
    cache.get_or_compute(key(1), || Err::<Computed<Arc<str>>, _>("no")).unwrap_err();
    cache.reconfigure(Config::default());
    assert!(cache.get_or_compute(key(1), || Ok::<_, CacheError>(text(1))).is_ok());
}

#[test]
fn a_making_that_panics_is_a_miss_and_a_failure() {
    let cache = Texts::new(Config::default());
    let making = || {
        cache.get_or_compute(key(1), || -> Result<_, CacheError> {
            resume_unwind(Box::new("a making"))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(making)).is_err());
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.misses, snapshot.failed), (1, 1));
}

#[test]
fn sixty_four_threads_that_ask_for_one_key_share_one_making() {
    const THREADS: usize = 64;
    let cache = Texts::new(Config::default());
    let makings = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let make = || {
                    makings.fetch_add(1, Ordering::Relaxed);
                    // Until every other thread waits for this making.
                    while cache.snapshot().waiting < THREADS as u64 - 1 {
                        thread::yield_now();
                    }
                    Ok::<_, CacheError>(text(1))
                };
                cache.get_or_compute(key(1), make).unwrap();
            });
        }
    });
    let snapshot = cache.snapshot();
    assert_eq!(makings.load(Ordering::Relaxed), 1);
    assert_eq!((snapshot.computed, snapshot.shared), (1, THREADS as u64 - 1));
    assert_eq!(snapshot.waiting, 0);
}
