use std::future::{pending, ready};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use pollster::block_on;
use ptx_key::PtxKey;

use crate::{CacheError, Config, PtxCache, Source, Store, WritePolicy};
use ptx_store::testing::MapStore;

type Outcome = Result<String, std::fmt::Error>;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

fn lowered(text: &str) -> std::future::Ready<Outcome> {
    ready(Ok(text.to_owned()))
}

fn above(tier: &Arc<MapStore<PtxKey>>, policy: WritePolicy) -> PtxCache {
    PtxCache::with_tiers(
        Config::default(),
        vec![Arc::clone(tier) as Arc<dyn Store<PtxKey>>],
        policy,
    )
}

#[test]
fn a_task_is_served_from_lowering_memory_and_tier_as_a_thread_is() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = above(&tier, WritePolicy::Ignore);
    let ask = || block_on(cache.get_or_lower_async(&key(1), || lowered("text"))).unwrap();
    assert_eq!(ask().source, Source::Computed);
    assert_eq!(tier.take_calls(), ["load", "claim", "store"]);
    assert_eq!(ask().source, Source::Memory);
    cache.memory().remove(&key(1));
    let loaded = ask();
    assert_eq!(&*loaded.payload, "text");
    assert_eq!(loaded.source, Source::Tier("disk".into()));
    assert_eq!(tier.take_calls(), ["load"]);
    let text = block_on(cache.get_or_lower_async(&key(1), || lowered("text"))).unwrap();
    assert!(Arc::ptr_eq(&text, &loaded));
}

#[test]
fn a_failed_write_is_the_tasks_error_only_where_the_policy_says_so() {
    for (policy, fails) in [(WritePolicy::Ignore, false), (WritePolicy::All, true)] {
        let tier = Arc::new(MapStore::failing("disk", "no space left on device"));
        let cache = above(&tier, policy);
        let served = block_on(cache.get_or_lower_async(&key(1), || lowered("text")));
        assert_eq!(matches!(served, Err(CacheError::Store { .. })), fails, "{policy:?}");
        assert_eq!(cache.snapshot().tiers[0].write_failures, 1);
    }
}

#[test]
fn a_request_dropped_while_it_lowers_hands_over_and_writes_nothing() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = above(&tier, WritePolicy::Ignore);
    let key = key(1);
    let mut dropped = Box::pin(cache.get_or_lower_async(&key, pending::<Outcome>));
    // The tiers are asked on another thread: poll until the request lowers.
    while tier.take_calls().last() != Some(&"claim") {
        assert!(dropped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        thread::yield_now();
    }
    drop(dropped);
    let served = block_on(cache.get_or_lower_async(&key, || lowered("text"))).unwrap();
    assert_eq!(served.source, Source::Computed);
    assert_eq!(cache.snapshot().lowered, 1);
}

#[test]
fn a_request_may_move_between_threads() {
    let cache = PtxCache::new(Config::default());
    let key = key(1);
    let request = cache.get_or_lower_async(&key, || lowered("text"));
    thread::scope(|scope| {
        let text = scope.spawn(|| block_on(request)).join().unwrap().unwrap();
        assert_eq!(&*text.payload, "text");
    });
}

#[test]
fn hits_of_tasks_are_verified_too() {
    let cache = PtxCache::new(Config::default());
    cache.set_verified_share(1.0);
    for text in ["one", "two"] {
        let served = block_on(cache.get_or_lower_async(&key(1), || lowered(text))).unwrap();
        assert_eq!(&*served.payload, "one");
    }
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.verified, snapshot.disagreed), (1, 1));
}
