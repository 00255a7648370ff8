//! What goes when a caller needs room for something else than entries.

use std::sync::Arc;
use std::time::Duration;

use ptx_key::PtxKey;

use crate::{Cache, Computed, Config, Size};

fn key(number: u64) -> PtxKey {
    PtxKey::from_bytes(*ptx_key::Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

/// Eight entries of 10 bytes; entry `n` cost `n + 1` seconds.
fn eight() -> Cache<PtxKey, Arc<str>> {
    let cache = Cache::new(Config::with_budget(Size { entries: 10, bytes: 1000 }));
    for number in 0..8 {
        let cost = Some(Duration::from_secs(number + 1));
        assert!(
            cache.insert(
                key(number),
                Computed { cost, ..Computed::from(Arc::from("x".repeat(10))) }
            )
        );
    }
    cache
}

fn left(cache: &Cache<PtxKey, Arc<str>>) -> Vec<u64> {
    (0..8).filter(|number| cache.get(&key(*number)).is_some()).collect()
}

#[test]
fn the_least_worth_go_first_and_no_more_than_are_needed() {
    let cache = eight();
    assert_eq!(cache.evict_where(25, |_, _| true), Size { entries: 3, bytes: 30 });
    assert_eq!(left(&cache), [3, 4, 5, 6, 7]);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.resident, Size { entries: 5, bytes: 50 });
    assert_eq!((snapshot.evicted.entries, snapshot.evicted.bytes), (3, 30));
}

#[test]
fn what_may_not_go_stays_whatever_is_asked_for() {
    let cache = eight();
    let held = [key(0), key(5)];
    let shed = cache.evict_where(u64::MAX, |key, _| !held.contains(key));
    assert_eq!(shed, Size { entries: 6, bytes: 60 });
    assert_eq!(left(&cache), [0, 5]);
    assert_eq!(cache.evict_where(1, |key, _| !held.contains(key)), Size::default());
}

#[test]
fn nothing_goes_for_nothing() {
    assert_eq!(eight().evict_where(0, |_, _| true), Size::default());
}
