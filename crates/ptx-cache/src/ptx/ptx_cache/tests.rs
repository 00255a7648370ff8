use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use ptx_key::PtxKey;

use crate::{
    CacheError, Claim, Config, PtxArtifact, PtxCache, Source, Store, StoreError, Stored,
    WritePolicy,
};
use ptx_store::testing::MapStore;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

fn lower(text: &str) -> impl FnOnce() -> Result<String, std::fmt::Error> {
    let text = text.to_owned();
    move || Ok(text)
}

fn must_not_lower() -> Result<String, std::fmt::Error> {
    panic!("a hit must not lower")
}

fn stacked(tiers: &[Arc<MapStore<PtxKey>>], policy: WritePolicy) -> PtxCache {
    let tiers = tiers.iter().map(|tier| Arc::clone(tier) as Arc<dyn Store<PtxKey>>).collect();
    PtxCache::with_tiers(Config::default(), tiers, policy)
}

#[test]
fn a_lowering_reaches_every_tier_and_a_fresh_cache_is_served_from_the_fastest() {
    let tiers = [Arc::new(MapStore::named("disk")), Arc::new(MapStore::named("remote"))];
    let first = stacked(&tiers, WritePolicy::Ignore);
    assert_eq!(first.get_or_lower(&key(1), lower("ptx")).unwrap().source, Source::Computed);
    assert_eq!(tiers[0].take_calls(), ["load", "claim", "store"]);
    assert_eq!(tiers[1].take_calls(), ["load", "claim", "store"]);

    let second = stacked(&tiers, WritePolicy::Ignore);
    let served = second.get_or_lower(&key(1), must_not_lower).unwrap();
    assert_eq!(served.source, Source::Tier("disk".into()));
    assert_eq!(&*served.payload, "ptx");
    assert_eq!(second.get_or_lower(&key(1), must_not_lower).unwrap().source, Source::Memory);
    assert!(tiers[1].take_calls().is_empty(), "the slower tier was asked for nothing");
    let snapshot = second.snapshot();
    assert_eq!((snapshot.lowered, snapshot.tiers[0].hits, snapshot.memory.hits), (0, 1, 1));
}

#[test]
fn a_hit_in_a_lower_tier_fills_those_above() {
    let tiers = [Arc::new(MapStore::named("disk")), Arc::new(MapStore::named("remote"))];
    stacked(&tiers[1..], WritePolicy::Ignore).get_or_lower(&key(1), lower("ptx")).unwrap();
    let cache = stacked(&tiers, WritePolicy::Ignore);
    let served = cache.get_or_lower(&key(1), must_not_lower).unwrap();
    assert_eq!(served.source, Source::Tier("remote".into()));
    assert_eq!(cache.snapshot().tiers[0].fills, 1);
    assert!(tiers[0].entries().contains_key(&key(1)));
}

#[test]
fn an_artifact_published_while_the_claim_was_awaited_is_not_lowered_again() {
    let artifact = PtxArtifact::from("from the other process").with_cost(Duration::from_secs(3));
    let tier = MapStore::named("disk");
    tier.publish_at_claim(artifact);
    let cache = stacked(&[Arc::new(tier)], WritePolicy::Ignore);
    let served = cache.get_or_lower(&key(1), must_not_lower).unwrap();
    assert_eq!(&*served.payload, "from the other process");
    assert_eq!(cache.snapshot().lowering_saved_by_tiers, Duration::from_secs(3));
}

#[test]
fn a_tier_that_fails_in_every_call_costs_the_caller_nothing() {
    let broken = Arc::new(MapStore::failing("disk", "no space left on device"));
    let sound = Arc::new(MapStore::named("remote"));
    let cache = stacked(&[Arc::clone(&broken), sound], WritePolicy::Ignore);
    assert_eq!(&*cache.get_or_lower(&key(1), lower("ptx")).unwrap().payload, "ptx");
    assert_eq!(broken.take_calls(), ["load", "claim", "store"]);
    let tiers = cache.snapshot().tiers;
    assert_eq!((tiers[0].load_failures, tiers[0].write_failures), (2, 1));
    assert_eq!((tiers[1].load_failures, tiers[1].writes), (0, 1));
}

#[test]
fn a_failed_write_is_the_callers_error_only_where_the_policy_says_so() {
    let outcome = |policy, failing: usize| {
        let tier = |number: usize, name| {
            let store = MapStore::named(name);
            store.fail_with((number == failing).then_some("no space left on device"));
            Arc::new(store)
        };
        stacked(&[tier(0, "disk"), tier(1, "remote")], policy).get_or_lower(&key(1), lower("ptx"))
    };
    assert!(outcome(WritePolicy::Ignore, 0).is_ok());
    assert!(outcome(WritePolicy::FirstTier, 1).is_ok());
    for (policy, failing, name) in [
        (WritePolicy::FirstTier, 0, "disk"),
        (WritePolicy::All, 0, "disk"),
        (WritePolicy::All, 1, "remote"),
    ] {
        let error = outcome(policy, failing).unwrap_err();
        assert!(matches!(&error, CacheError::Store { tier, .. } if **tier == *name), "{error}");
    }
}

#[test]
fn remove_leaves_tiers_alone_and_purge_does_not() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = stacked(&[Arc::clone(&tier)], WritePolicy::Ignore);
    cache.get_or_lower(&key(1), lower("ptx")).unwrap();
    assert!(cache.memory().remove(&key(1)).is_some());
    assert_eq!(
        cache.get_or_lower(&key(1), must_not_lower).unwrap().source,
        Source::Tier("disk".into())
    );
    assert!(cache.purge(&key(1)).unwrap());
    assert_eq!(cache.get_or_lower(&key(1), lower("new")).unwrap().source, Source::Computed);
    assert!(!cache.purge(&key(2)).unwrap());
}

#[test]
fn a_request_without_a_key_is_lowered_and_not_kept() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = stacked(&[Arc::clone(&tier)], WritePolicy::Ignore);
    assert_eq!(&*cache.lower_unkeyed(lower("ptx")).unwrap().payload, "ptx");
    assert!(tier.take_calls().is_empty());
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.unkeyed, snapshot.memory.resident.entries), (1, 0));
}

#[test]
fn only_the_lowerings_own_error_reaches_the_caller() {
    let cache = stacked(&[Arc::new(MapStore::named("disk"))], WritePolicy::All);
    let error = cache.get_or_lower(&key(1), || Err::<String, _>(std::fmt::Error)).unwrap_err();
    assert!(error.lowering_error::<std::fmt::Error>().is_some());
    assert_eq!(cache.snapshot().lowered, 0);
}

#[test]
fn clearing_sets_every_count_to_zero_and_leaves_tiers_their_artifacts() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = stacked(&[Arc::clone(&tier)], WritePolicy::Ignore);
    cache.get_or_lower(&key(1), lower("ptx")).unwrap();
    cache.get_or_lower(&key(1), must_not_lower).unwrap();
    cache.clear();
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.memory.resident.entries, 0);
    assert_eq!((snapshot.memory.hits, snapshot.memory.misses, snapshot.lowered), (0, 0, 0));
    assert_eq!(snapshot.tiers[0].writes, 0);
    assert_eq!(
        cache.get_or_lower(&key(1), must_not_lower).unwrap().source,
        Source::Tier("disk".into())
    );
}

/// A tier that clears the cache's counts while it is claimed.
struct ClearsAtClaim {
    cache: OnceLock<Weak<PtxCache>>,
    published: bool,
}

impl Store<PtxKey> for ClearsAtClaim {
    fn name(&self) -> &'static str {
        "clears"
    }

    fn load(&self, _: &PtxKey) -> Result<Option<PtxArtifact>, StoreError> {
        Ok(None)
    }

    fn store(&self, _: &PtxKey, _: &PtxArtifact) -> Result<Stored, StoreError> {
        Ok(Stored::Written)
    }

    fn remove(&self, _: &PtxKey) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn claim(&self, _: &PtxKey) -> Result<Claim<PtxKey>, StoreError> {
        if let Some(cache) = self.cache.get().and_then(Weak::upgrade) {
            cache.clear();
        }
        let published = self.published.then(|| Claim::Published("published".into()));
        Ok(published.unwrap_or(Claim::NotCoordinated))
    }
}

#[test]
fn counts_that_are_cleared_during_a_claim_stay_counts() {
    for published in [true, false] {
        let tier = Arc::new(ClearsAtClaim { cache: OnceLock::new(), published });
        let tiers = vec![Arc::clone(&tier) as Arc<dyn Store<PtxKey>>];
        let cache = Arc::new(PtxCache::with_tiers(Config::default(), tiers, WritePolicy::Ignore));
        tier.cache.set(Arc::downgrade(&cache)).unwrap();
        cache.get_or_lower(&key(1), lower("ptx")).unwrap();
        let snapshot = &cache.snapshot().tiers[0];
        assert_eq!((snapshot.hits, snapshot.misses), (published.into(), (!published).into()));
    }
}

#[test]
fn a_purge_starts_with_the_slowest_tier_and_ends_with_memory() {
    let tiers = [Arc::new(MapStore::named("disk")), Arc::new(MapStore::named("remote"))];
    let cache = stacked(&tiers, WritePolicy::Ignore);
    cache.get_or_lower(&key(1), lower("wrong")).unwrap();
    assert!(cache.purge(&key(1)).unwrap());
    assert!(tiers.iter().all(|tier| tier.entries().is_empty()));
    assert!(cache.get(&key(1)).is_none());
    // A tier that fails keeps nobody else's text.
    cache.get_or_lower(&key(1), lower("wrong")).unwrap();
    tiers[1].fail_with(Some("no space left on device"));
    assert!(cache.purge(&key(1)).is_err());
    assert!(tiers[0].entries().is_empty() && cache.get(&key(1)).is_none());
}

#[test]
fn an_artifact_of_unknown_cost_costs_what_its_load_takes() {
    let computed = crate::Computed::artifact(PtxArtifact::from("ptx"), false);
    assert_eq!(computed.cost, None);
    let known = PtxArtifact::from("ptx").with_cost(Duration::from_millis(3));
    assert_eq!(crate::Computed::artifact(known, false).cost, Some(Duration::from_millis(3)));
}
