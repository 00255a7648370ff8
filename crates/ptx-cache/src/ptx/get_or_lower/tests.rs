use std::error::Error;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ptx_key::PtxKey;

use crate::{
    Claim, Config, Event, FailureMemory, PtxArtifact, PtxCache, Size, Source, Store, StoreError,
    Stored, TierPolicy, WritePolicy,
};
use ptx_store::testing::MapStore;

type Outcome = Result<String, std::fmt::Error>;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

fn lower(text: &str) -> impl FnOnce() -> Outcome {
    let text = text.to_owned();
    move || Ok(text)
}

fn above(tier: &Arc<MapStore<PtxKey>>, policy: impl Into<TierPolicy>) -> PtxCache {
    PtxCache::with_tiers(
        Config::default(),
        vec![Arc::clone(tier) as Arc<dyn Store<PtxKey>>],
        policy,
    )
}

/// The cache, and what its listener has heard, one word an event.
fn heard(cache: PtxCache) -> (PtxCache, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let cache = cache.with_listener(Arc::new(move |event: &Event<'_, PtxKey>| {
        heard.lock().unwrap().push(match event {
            Event::Computed { kept, .. } => format!("computed, kept {kept}"),
            Event::Loaded { tier, .. } => format!("loaded from {tier}"),
            Event::Failed { error, .. } => format!("failed: {error}"),
            Event::NotVerified { error, .. } => format!("not verified: {error}"),
            Event::Inserted { bytes, kept, .. } => format!("inserted {bytes}, kept {kept}"),
            Event::Removed { bytes, .. } => format!("removed {bytes}"),
            Event::Cleared => "cleared".to_owned(),
            Event::Evicted { bytes, .. } => format!("evicted {bytes}"),
            Event::TierFailed { tier, error, .. } => format!("{tier} failed: {error}"),
            Event::Disagreed { line, served, lowered, .. } => {
                format!("disagreed in line {line}: {served} / {lowered}")
            }
        });
    }));
    (cache, events)
}

fn told(events: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut events.lock().unwrap())
}

/// A tier whose writes wait until they are let go.
struct SlowStore {
    go: Mutex<mpsc::Receiver<()>>,
    inner: MapStore<PtxKey>,
}

impl Store<PtxKey> for SlowStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn load(&self, key: &PtxKey) -> Result<Option<PtxArtifact>, StoreError> {
        self.inner.load(key)
    }

    fn store(&self, key: &PtxKey, artifact: &PtxArtifact) -> Result<Stored, StoreError> {
        self.go.lock().unwrap().recv()?;
        self.inner.store(key, artifact)
    }

    fn remove(&self, key: &PtxKey) -> Result<bool, StoreError> {
        self.inner.remove(key)
    }

    fn claim(&self, key: &PtxKey) -> Result<Claim<PtxKey>, StoreError> {
        self.inner.claim(key)
    }
}

#[test]
fn others_are_served_while_the_tiers_are_being_written() {
    let (let_go, go) = mpsc::channel();
    let tier = SlowStore { go: Mutex::new(go), inner: MapStore::named("slow") };
    let cache = PtxCache::with_tiers(Config::default(), vec![Arc::new(tier)], WritePolicy::Ignore);
    thread::scope(|scope| {
        let leader = scope.spawn(|| cache.get_or_lower(&key(1), lower("text")).unwrap());
        let served = loop {
            // Whichever of the two leads is held at its write; the text is there all the same.
            match cache.get(&key(1)) {
                Some(text) => break text,
                None => thread::yield_now(),
            }
        };
        assert_eq!(&*served.payload, "text");
        assert!(!leader.is_finished(), "the write was let go by nobody");
        let_go.send(()).unwrap();
        assert_eq!(leader.join().unwrap().source, Source::Computed);
    });
    assert_eq!(cache.snapshot().tiers[0].writes, 1);
}

#[test]
fn what_only_read_only_tiers_are_given_is_not_held_below() {
    use crate::ptx::tiers::Tiers;
    let tier = |is_read_only| -> Arc<dyn Store<PtxKey>> {
        let store = MapStore::named("disk");
        store.set_read_only(is_read_only);
        Arc::new(store)
    };
    let artifact = PtxArtifact::from("text").with_cost(Duration::from_secs(1));
    for (tiers, keeps) in
        [(vec![], false), (vec![tier(true)], false), (vec![tier(true), tier(false)], true)]
    {
        assert_eq!(Tiers::new(tiers, TierPolicy::default()).keeps(&artifact), keeps);
    }
}

#[test]
fn what_is_cheaper_than_the_least_cost_is_not_written_below() {
    let tier = Arc::new(MapStore::named("disk"));
    let policy = TierPolicy { least_cost: Duration::from_secs(3600), ..TierPolicy::default() };
    let cache = above(&tier, policy);
    cache.get_or_lower(&key(1), lower("cheap")).unwrap();
    assert!(tier.load(&key(1)).unwrap().is_none());
    assert_eq!(cache.snapshot().not_admitted, 1);
    cache.set_tier_policy(TierPolicy::default());
    cache.get_or_lower(&key(2), lower("kept")).unwrap();
    assert!(tier.load(&key(2)).unwrap().is_some());
    assert_eq!(cache.snapshot().not_admitted, 1);
}

#[test]
fn every_event_but_a_hit_is_told() {
    let tier = Arc::new(MapStore::named("disk"));
    let (cache, events) = heard(above(&tier, WritePolicy::Ignore));
    cache.get_or_lower(&key(1), lower("text")).unwrap();
    assert_eq!(told(&events), ["computed, kept true"]);
    cache.get_or_lower(&key(1), lower("not asked")).unwrap();
    assert!(told(&events).is_empty());
    cache.memory().remove(&key(1));
    cache.get_or_lower(&key(1), lower("not asked")).unwrap();
    assert_eq!(told(&events), ["removed 4", "loaded from disk", "computed, kept true"]);
    cache.get_or_lower(&key(2), || Err::<String, _>(std::fmt::Error)).unwrap_err();
    let [failed] = &told(&events)[..] else { panic!("one event") };
    assert!(failed.starts_with("failed: lowering failed"), "{failed}");
    cache.memory().reconfigure(Config::with_budget(Size { entries: 0, bytes: 0 }));
    assert_eq!(told(&events), ["evicted 4"]);
    cache.get_or_lower(&key(3), lower("text")).unwrap();
    assert_eq!(told(&events), ["computed, kept false"]);
}

#[test]
fn a_tier_that_fails_is_told_of() {
    let tier = Arc::new(MapStore::failing("disk", "no space left on device"));
    let (cache, events) = heard(above(&tier, WritePolicy::Ignore));
    cache.get_or_lower(&key(1), lower("text")).unwrap();
    let failed = "disk failed: no space left on device";
    assert_eq!(told(&events), [failed, failed, "computed, kept true", failed]);
}

#[test]
fn what_the_owner_changes_is_told_too() {
    let budget = Size { entries: 10, bytes: 10 };
    let (cache, events) = heard(PtxCache::new(Config::with_budget(budget)));
    cache.insert(&key(1), "text");
    cache.insert(&key(2), "a text that is too long");
    cache.memory().remove(&key(1));
    cache.memory().remove(&key(1));
    cache.clear();
    let expected = ["inserted 4, kept true", "inserted 23, kept false", "removed 4", "cleared"];
    assert_eq!(told(&events), expected);
}

#[test]
fn a_listener_may_call_the_cache() {
    let cache = Arc::new(std::sync::OnceLock::<PtxCache>::new());
    let inner = Arc::clone(&cache);
    let listener = move |event: &Event<'_, PtxKey>| {
        if let (Event::Evicted { key, .. }, Some(cache)) = (event, inner.get()) {
            assert!(cache.get(key).is_none());
            cache.memory().clear();
        }
    };
    let config = Config::with_budget(Size { entries: 2, bytes: 1 << 20 });
    cache.set(PtxCache::new(config).with_listener(Arc::new(listener))).ok().unwrap();
    let cache = cache.get().unwrap();
    (0..8).for_each(|number| drop(cache.get_or_lower(&key(number), lower("text")).unwrap()));
    assert!(cache.memory().snapshot().resident.entries <= 2);
}

#[test]
fn a_hit_that_lowering_disagrees_with_is_found_in_memory_and_in_a_tier() {
    let tier = Arc::new(MapStore::named("disk"));
    let (cache, events) = heard(above(&tier, WritePolicy::Ignore));
    cache.set_verified_share(1.0);
    cache.get_or_lower(&key(1), lower("one\ntwo\nthree")).unwrap();
    cache.get_or_lower(&key(1), lower("one\ntwo\nthree")).unwrap();
    assert_eq!(told(&events), ["computed, kept true"], "a text agrees with itself");
    let disagreed = "disagreed in line 2: two / zwei";
    let served = cache.get_or_lower(&key(1), lower("one\nzwei\nthree")).unwrap();
    assert_eq!((&*served.payload, told(&events)), ("one\ntwo\nthree", vec![disagreed.to_owned()]));
    cache.memory().remove(&key(1));
    let served = cache.get_or_lower(&key(1), lower("one\nzwei\nthree")).unwrap();
    assert_eq!(&*served.payload, "one\ntwo\nthree", "what was found is served all the same");
    let removed = "removed 13";
    assert_eq!(told(&events), [removed, "loaded from disk", "computed, kept true", disagreed]);
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.verified, snapshot.disagreed, snapshot.lowered), (3, 2, 1));
}

#[test]
fn the_share_that_is_verified_is_the_share_that_was_asked_for() {
    fastrand::seed(7);
    let cache = PtxCache::new(Config::default());
    let ask = |share: f64| {
        cache.clear();
        cache.get_or_lower(&key(1), lower("text")).unwrap();
        cache.set_verified_share(share);
        (0..10_000).for_each(|_| drop(cache.get_or_lower(&key(1), lower("text")).unwrap()));
        cache.snapshot().verified
    };
    assert_eq!(ask(0.0), 0);
    assert_eq!(ask(f64::NAN), 0);
    assert_eq!(ask(-1.0), 0);
    assert_eq!(ask(2.0), 10_000);
    assert!((800..1200).contains(&ask(0.1)));
}

#[test]
fn a_lowering_that_fails_in_verification_costs_the_caller_nothing() {
    let (cache, events) = heard(PtxCache::new(Config::default()));
    cache.get_or_lower(&key(1), lower("text")).unwrap();
    cache.set_verified_share(1.0);
    told(&events);
    let served = cache.get_or_lower(&key(1), || Err::<String, _>(std::fmt::Error)).unwrap();
    assert_eq!(&*served.payload, "text");
    assert!(told(&events)[0].starts_with("not verified: "));
}

#[test]
fn a_failure_that_is_remembered_is_told_again_without_a_lowering() {
    let failures = FailureMemory {
        lasts: Duration::from_secs(3600),
        most: 8,
        is_deterministic: Arc::new(<dyn Error + Send + Sync>::is::<std::fmt::Error>),
    };
    let config = Config { failures: Some(failures), ..Config::default() };
    let cache = PtxCache::new(config.clone());
    let mut lowerings = 0;
    let mut fail = || {
        cache.get_or_lower(&key(1), || {
            lowerings += 1;
            Err::<String, _>(std::fmt::Error)
        })
    };
    let errors = [fail().unwrap_err(), fail().unwrap_err(), fail().unwrap_err()];
    assert_eq!(lowerings, 1);
    assert!(errors.iter().all(|error| error.lowering_error::<std::fmt::Error>().is_some()));
    let memory = cache.snapshot().memory;
    assert_eq!((memory.failed, memory.recalled_failures, memory.misses), (3, 2, 3));
    // A text that comes from elsewhere ends it, and so does clearing.
    cache.insert(&key(1), "text");
    cache.memory().remove(&key(1));
    assert_eq!(&*cache.get_or_lower(&key(1), lower("lowered")).unwrap().payload, "lowered");
}

#[test]
fn what_hits_saved_is_what_their_lowerings_had_cost() {
    let cache = PtxCache::new(Config::default());
    let artifact = PtxArtifact::from("text").with_cost(Duration::from_millis(40));
    cache.insert(&key(1), artifact);
    (0..5).for_each(|_| assert!(cache.get(&key(1)).is_some()));
    assert_eq!(cache.snapshot().memory.saved, Duration::from_millis(200));
}
