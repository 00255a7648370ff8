use std::sync::Arc;
use std::time::Duration;

use ptx_key::PtxKey;

use crate::map_store::MapStore;
use crate::{Artifact, CacheError, Config, PtxCache, Source, Store, WritePolicy};

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

fn stacked(tiers: &[Arc<MapStore>], policy: WritePolicy) -> PtxCache {
    let tiers = tiers.iter().map(|tier| Arc::clone(tier) as Arc<dyn Store>).collect();
    PtxCache::with_tiers(Config::default(), tiers, policy)
}

#[test]
fn a_lowering_reaches_every_tier_and_a_fresh_cache_is_served_from_the_fastest() {
    let tiers = [Arc::new(MapStore::named("disk")), Arc::new(MapStore::named("remote"))];
    let first = stacked(&tiers, WritePolicy::Ignore);
    assert_eq!(first.serve(&key(1), lower("ptx")).unwrap().source, Source::Lowered);
    assert_eq!(tiers[0].calls(), ["load", "claim", "store"]);
    assert_eq!(tiers[1].calls(), ["load", "claim", "store"]);

    let second = stacked(&tiers, WritePolicy::Ignore);
    let served = second.serve(&key(1), must_not_lower).unwrap();
    assert_eq!((served.source, &*served.text), (Source::Tier("disk".into()), "ptx"));
    assert_eq!(second.serve(&key(1), must_not_lower).unwrap().source, Source::Memory);
    assert!(tiers[1].calls().is_empty(), "the slower tier was asked for nothing");
    let snapshot = second.snapshot();
    assert_eq!((snapshot.lowered, snapshot.tiers[0].hits, snapshot.memory.hits), (0, 1, 1));
}

#[test]
fn a_hit_in_a_lower_tier_fills_those_above() {
    let tiers = [Arc::new(MapStore::named("disk")), Arc::new(MapStore::named("remote"))];
    stacked(&tiers[1..], WritePolicy::Ignore).serve(&key(1), lower("ptx")).unwrap();
    let cache = stacked(&tiers, WritePolicy::Ignore);
    let served = cache.serve(&key(1), must_not_lower).unwrap();
    assert_eq!(served.source, Source::Tier("remote".into()));
    assert_eq!(cache.snapshot().tiers[0].fills, 1);
    assert!(tiers[0].kept.lock().unwrap().contains_key(&key(1)));
}

#[test]
fn an_artifact_published_while_the_claim_was_awaited_is_not_lowered_again() {
    let artifact = Artifact {
        text: "from the other process".into(),
        cost: Duration::from_secs(3),
        family: None,
        trace: None,
    };
    let tier = MapStore { published_at_claim: Some(artifact), ..MapStore::named("disk") };
    let cache = stacked(&[Arc::new(tier)], WritePolicy::Ignore);
    let served = cache.serve(&key(1), must_not_lower).unwrap();
    assert_eq!(&*served.text, "from the other process");
    assert_eq!(cache.snapshot().lowering_saved_by_tiers, Duration::from_secs(3));
}

#[test]
fn a_tier_that_fails_in_every_call_costs_the_caller_nothing() {
    let broken = Arc::new(MapStore { failing: true, ..MapStore::named("disk") });
    let sound = Arc::new(MapStore::named("remote"));
    let cache = stacked(&[Arc::clone(&broken), sound], WritePolicy::Ignore);
    assert_eq!(&*cache.get_or_lower(&key(1), lower("ptx")).unwrap(), "ptx");
    assert_eq!(broken.calls(), ["load", "claim", "store"]);
    let tiers = cache.snapshot().tiers;
    assert_eq!((tiers[0].load_failures, tiers[0].write_failures), (2, 1));
    assert_eq!((tiers[1].load_failures, tiers[1].writes), (0, 1));
}

#[test]
fn a_failed_write_is_the_callers_error_only_where_the_policy_says_so() {
    let outcome = |policy, failing: usize| {
        let tier = |number: usize, name| {
            Arc::new(MapStore { failing: number == failing, ..MapStore::named(name) })
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
        assert!(matches!(&error, CacheError::Store { tier, .. } if tier == name), "{error}");
    }
}

#[test]
fn remove_leaves_tiers_alone_and_purge_does_not() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = stacked(&[Arc::clone(&tier)], WritePolicy::Ignore);
    cache.get_or_lower(&key(1), lower("ptx")).unwrap();
    assert!(cache.remove(&key(1)).is_some());
    assert_eq!(cache.serve(&key(1), must_not_lower).unwrap().source, Source::Tier("disk".into()));
    assert!(cache.purge(&key(1)).unwrap());
    assert_eq!(cache.serve(&key(1), lower("new")).unwrap().source, Source::Lowered);
    assert!(!cache.purge(&key(2)).unwrap());
}

#[test]
fn a_request_without_a_key_is_lowered_and_not_kept() {
    let tier = Arc::new(MapStore::named("disk"));
    let cache = stacked(&[Arc::clone(&tier)], WritePolicy::Ignore);
    assert_eq!(&*cache.lower_unkeyed(lower("ptx")).unwrap(), "ptx");
    assert!(tier.calls().is_empty());
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
    assert_eq!(cache.serve(&key(1), must_not_lower).unwrap().source, Source::Tier("disk".into()));
}
