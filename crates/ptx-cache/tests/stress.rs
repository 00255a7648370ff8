//! Real threads that do everything at once: what must hold afterwards, whatever they did.
//!
//! `PTX_STRESS_SECONDS` sets how long each round of threads runs in total (default 2).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ptx_cache::{Cache, CacheError, Computed, Config, Size, Weigh};
use ptx_key::{Digest, PtxKey};

/// How many values are alive, and how many ever were.
#[derive(Default)]
struct Census {
    alive: AtomicI64,
    born: AtomicU64,
}

struct Counted {
    census: Arc<Census>,
    number: u64,
    bytes: u64,
    /// Set to zero on drop, so that a second drop or a use after it is seen.
    canary: AtomicU64,
}

const CANARY: u64 = 0x5afe_5afe_5afe_5afe;

impl Counted {
    fn new(census: &Arc<Census>, number: u64, bytes: u64) -> Self {
        census.alive.fetch_add(1, Ordering::SeqCst);
        census.born.fetch_add(1, Ordering::SeqCst);
        let census = Arc::clone(census);
        Self { census, number, bytes, canary: AtomicU64::new(CANARY) }
    }

    fn check(&self, number: u64) {
        assert_eq!(self.canary.load(Ordering::SeqCst), CANARY, "a value was used after its drop");
        assert_eq!(self.number, number, "a value was served under another key");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_eq!(self.canary.swap(0, Ordering::SeqCst), CANARY, "a value was dropped twice");
        self.census.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
struct Value(Arc<Counted>);

impl Weigh for Value {
    fn weight(&self) -> u64 {
        self.0.bytes
    }
}

fn key(number: u64) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

/// A small generator of its own for each thread (Marsaglia, *Xorshift RNGs*, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn one_step(cache: &Cache<PtxKey, Value>, census: &Arc<Census>, random: &mut Random) {
    let number = random.below(200);
    let bytes = random.below(300);
    let value = || Computed::from(Value(Arc::new(Counted::new(census, number, bytes))));
    match random.below(100) {
        0..=39 => {
            if let Some(value) = cache.get(&key(number)) {
                value.0.check(number);
            }
        }
        40..=59 => {
            let pinned = cache.pin();
            let borrowed = pinned.get(&key(number));
            thread::yield_now();
            if let Some(value) = borrowed {
                value.0.check(number);
            }
        }
        60..=74 => {
            cache.insert(key(number), value());
        }
        75..=89 => {
            let served = cache.get_or_compute(key(number), || Ok::<_, CacheError>(value()));
            match served {
                Ok(served) => served.value.0.check(number),
                Err(error) => {
                    assert!(matches!(error, CacheError::Panicked | CacheError::Lowering(_)));
                }
            }
        }
        90..=91 => {
            let _ = cache.get_or_compute(key(number), || Err("refused"));
        }
        92 => {
            // Unwinds as a panic does, without the hook's output.
            let unwind = || -> Result<Computed<Value>, &str> { resume_unwind(Box::new("unwound")) };
            let lowering = || cache.get_or_compute(key(number), unwind);
            let _ = catch_unwind(AssertUnwindSafe(lowering));
        }
        93 => give_up(cache, key(number)),
        94..=96 => {
            if let Some(value) = cache.remove(&key(number)) {
                value.0.check(number);
            }
        }
        97..=98 => {
            let budget = Size { entries: 5 + random.below(80), bytes: random.below(20_000) };
            cache.reconfigure(Config::with_budget(budget));
        }
        _ => cache.clear(),
    }
}

/// An async request that is dropped while it makes, or while it waits for another.
#[cfg(feature = "async")]
fn give_up(cache: &Cache<PtxKey, Value>, key: PtxKey) {
    use std::future::{Future, pending};
    use std::task::{Context, Waker};
    let never = pending::<Result<Computed<Value>, CacheError>>;
    let mut request = Box::pin(cache.get_or_compute_async(key, never));
    let mut context = Context::from_waker(Waker::noop());
    if request.as_mut().poll(&mut context).is_pending() {
        thread::yield_now();
        let _ = request.as_mut().poll(&mut context);
    }
}

#[cfg(not(feature = "async"))]
fn give_up(_cache: &Cache<PtxKey, Value>, _key: PtxKey) {}

#[test]
fn everything_at_once_ends_exact_and_without_a_leak() {
    let seconds = std::env::var("PTX_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
    let census = Arc::new(Census::default());
    let cache = Cache::new(Config::with_budget(Size { entries: 64, bytes: 10_000 }));
    let mut seed = 1;
    while Instant::now() < until {
        thread::scope(|scope| {
            for _ in 0..8 {
                seed += 1;
                let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
                let (cache, census) = (&cache, &census);
                scope.spawn(move || {
                    (0..2_000).for_each(|_| one_step(cache, census, &mut random));
                });
            }
        });
        let entries = cache.entries();
        let sums = Size {
            entries: entries.len() as u64,
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
        };
        assert_eq!(cache.snapshot().resident, sums);
        let budget = cache.config().budget;
        assert!(sums.entries <= budget.entries && sums.bytes <= budget.bytes);
        for entry in entries {
            let value =
                cache.get(&entry.key).expect("a listed entry is resident when all is still");
            assert_eq!(key(value.0.number), entry.key);
        }
    }
    drop(cache);
    // Retired values are freed as epochs pass, which takes other threads' bags along.
    let patience = Instant::now() + Duration::from_secs(60);
    while census.alive.load(Ordering::SeqCst) != 0 && Instant::now() < patience {
        crossbeam_epoch::pin().flush();
        thread::yield_now();
    }
    assert_eq!(census.alive.load(Ordering::SeqCst), 0, "retired values were never dropped");
    let born = census.born.load(Ordering::SeqCst);
    println!("{born} values made, each dropped once");
    assert!(born > 1_000);
}
