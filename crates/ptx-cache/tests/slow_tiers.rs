//! Tiers that are slow, late, lying or broken, and who waits for them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::unnecessary_wraps, reason = "lowerings give results")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use ptx_cache::{
    Artifact, CacheError, Claim, Config, Event, PtxCache, Source, Store, StoreError, Stored,
    WritePolicy,
};
use ptx_key::PtxKey;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

fn artifact(cost: Duration) -> Artifact {
    Artifact::from("found").with_cost(cost)
}

/// A tier whose answers are set.
#[derive(Default)]
struct Tier {
    has: Option<Artifact>,
    published_at_claim: Option<Artifact>,
    fails: bool,
    /// A write says that it began and waits until it is let go.
    held: Option<(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>)>,
    written: AtomicUsize,
}

impl Store<PtxKey> for Tier {
    fn name(&self) -> &'static str {
        "tier"
    }

    fn load(&self, _key: &PtxKey) -> Result<Option<Artifact>, StoreError> {
        if self.fails { Err("broken".into()) } else { Ok(self.has.clone()) }
    }

    fn store(&self, _key: &PtxKey, _artifact: &Artifact) -> Result<Stored, StoreError> {
        if let Some((began, go)) = &self.held {
            began.send(())?;
            go.lock().unwrap().recv()?;
        }
        self.written.fetch_add(1, Ordering::SeqCst);
        Ok(Stored::Written)
    }

    fn remove(&self, _key: &PtxKey) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn claim(&self, _key: &PtxKey) -> Result<Claim<PtxKey>, StoreError> {
        Ok(self.published_at_claim.clone().map_or(Claim::NotCoordinated, Claim::Published))
    }
}

fn above(tiers: Vec<Arc<dyn Store<PtxKey>>>) -> PtxCache {
    PtxCache::with_tiers(Config::default(), tiers, WritePolicy::Ignore)
}

fn has(cost: Duration) -> Arc<Tier> {
    Arc::new(Tier { has: Some(artifact(cost)), ..Tier::default() })
}

fn lower() -> Result<&'static str, std::fmt::Error> {
    Ok("lowered")
}

#[test]
fn nobody_waits_while_a_slow_tier_is_filled_from_one_below() {
    let (began, begins) = mpsc::channel();
    let (let_go, go) = mpsc::channel();
    let slow = Arc::new(Tier { held: Some((began, Mutex::new(go))), ..Tier::default() });
    let cache = above(vec![slow, has(Duration::ZERO)]);
    thread::scope(|scope| {
        let filling = scope.spawn(|| cache.get_or_lower(&key(1), lower).unwrap().source);
        begins.recv().unwrap();
        // Ends, though the fill does not until it is let go.
        assert_eq!(cache.get_or_lower(&key(1), lower).unwrap().source, Source::Memory);
        let_go.send(()).unwrap();
        assert_eq!(filling.join().unwrap(), Source::Tier("tier".into()));
    });
}

#[test]
fn nobody_waits_while_a_tiers_text_is_verified() {
    let cache = above(vec![has(Duration::ZERO)]);
    cache.set_verified_share(1.0);
    let (began, begins) = mpsc::channel();
    let (let_go, go) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let cache = &cache;
        scope.spawn(move || {
            let slow = || {
                began.send(()).unwrap();
                go.recv().unwrap();
                lower()
            };
            assert_eq!(&*cache.get_or_lower(&key(1), slow).unwrap().payload, "found");
        });
        begins.recv().unwrap();
        assert_eq!(
            cache.get(&key(1)).map(|found| found.payload.to_string()).as_deref(),
            Some("found")
        );
        let_go.send(()).unwrap();
    });
    assert_eq!(cache.snapshot().disagreed, 1);
}

#[test]
fn a_lowering_that_asks_for_its_own_key_is_verified_once() {
    fn asks_itself(cache: &PtxCache) -> Result<String, CacheError> {
        let inner = cache.get_or_lower(&key(1), || asks_itself(cache));
        Ok(inner.map_or("leaf".to_owned(), |text| text.payload.to_string()))
    }
    let cache = above(Vec::new());
    cache.get_or_lower(&key(1), || asks_itself(&cache)).unwrap();
    cache.set_verified_share(1.0);
    cache.get_or_lower(&key(1), || asks_itself(&cache)).unwrap();
    assert_eq!(cache.snapshot().verified, 1);
}

#[test]
fn a_request_that_finds_its_text_at_the_claim_is_one_hit_and_no_miss() {
    let published_at_claim = Some(artifact(Duration::ZERO));
    let cache = above(vec![Arc::new(Tier { published_at_claim, ..Tier::default() })]);
    cache.get_or_lower(&key(1), lower).unwrap();
    let tier = &cache.snapshot().tiers[0];
    assert_eq!((tier.hits, tier.misses), (1, 0));
}

#[test]
fn costs_that_a_tier_claims_add_up_to_no_more_than_there_is() {
    let cache = above(vec![has(Duration::MAX)]);
    (0..3).for_each(|number| drop(cache.get_or_lower(&key(number), lower).unwrap()));
    (0..3).for_each(|number| drop(cache.get_or_lower(&key(number), lower).unwrap()));
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.lowering_saved_by_tiers, Duration::MAX);
    assert_eq!(snapshot.memory.saved, Duration::from_micros(3 * u64::from(u32::MAX)));
}

#[test]
fn the_first_listener_hears_all_and_a_second_one_nothing() {
    let counted = || {
        let count = Arc::new(AtomicUsize::new(0));
        let heard = Arc::clone(&count);
        let listener = move |_: &Event<'_, PtxKey>| {
            heard.fetch_add(1, Ordering::SeqCst);
        };
        (Arc::new(listener), count)
    };
    let ((first, firsts), (second, seconds)) = (counted(), counted());
    let broken = Arc::new(Tier { fails: true, ..Tier::default() });
    let cache = above(vec![broken]).with_listener(first).with_listener(second);
    cache.get_or_lower(&key(1), lower).unwrap();
    let heard = (firsts.load(Ordering::SeqCst), seconds.load(Ordering::SeqCst));
    assert_eq!(heard, (2, 0), "a tier that failed, and a text that was made");
}

/// The cache, whose listener asks for the key of a tier's failure.
fn asks_at_failures() -> Arc<OnceLock<PtxCache>> {
    let cache = Arc::new(OnceLock::<PtxCache>::new());
    let inner = Arc::clone(&cache);
    let listener = move |event: &Event<'_, PtxKey>| {
        if let (Event::TierFailed { key, .. }, Some(cache)) = (event, inner.get()) {
            let asked = cache.get_or_lower(key, lower);
            assert!(matches!(asked, Err(CacheError::Reentry)));
        }
    };
    let broken = Arc::new(Tier { fails: true, ..Tier::default() });
    assert!(cache.set(above(vec![broken]).with_listener(Arc::new(listener))).is_ok());
    cache
}

#[test]
fn a_listener_that_asks_for_the_key_of_a_tiers_failure_is_refused() {
    let cache = asks_at_failures();
    cache.get().unwrap().get_or_lower(&key(1), lower).unwrap();
}

#[cfg(feature = "async")]
mod tasks {
    use std::future::{Future, pending, ready};
    use std::task::{Context, Wake, Waker};

    use super::*;

    #[test]
    fn a_listener_that_asks_for_the_key_of_a_tiers_failure_is_refused() {
        let cache = asks_at_failures();
        let lower = || ready(lower());
        pollster::block_on(cache.get().unwrap().get_or_lower_async(&key(1), lower)).unwrap();
    }

    #[test]
    fn a_request_dropped_after_its_text_is_there_is_written_all_the_same() {
        for _ in 0..50 {
            let tier = Arc::new(Tier::default());
            let cache = above(vec![Arc::clone(&tier) as Arc<dyn Store<PtxKey>>]);
            let key = key(1);
            let mut request = Box::pin(cache.get_or_lower_async(&key, || ready(lower())));
            let mut context = Context::from_waker(Waker::noop());
            while cache.get(&key).is_none() && request.as_mut().poll(&mut context).is_pending() {}
            drop(request);
            // Ends when the write is done: the test hangs if it was dropped.
            while tier.written.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn a_waiter_that_gives_up_leaves_no_waker_behind() {
        struct Wakes;
        impl Wake for Wakes {
            fn wake(self: Arc<Self>) {}
        }
        let cache = above(Vec::new());
        let key = key(1);
        let never = pending::<Result<&str, std::fmt::Error>>;
        let mut leads = Box::pin(cache.get_or_lower_async(&key, never));
        assert!(leads.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let counted = Arc::new(Wakes);
        let waker = Waker::from(Arc::clone(&counted));
        for _ in 0..100 {
            let mut waits = Box::pin(cache.get_or_lower_async(&key, never));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(waker);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
