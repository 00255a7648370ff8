//! What stays and what goes when the budget is full.

use std::sync::mpsc;

use super::*;
use crate::policy::Newcomer;
use crate::policy::Usage;
use crate::table::{About, Slot};
use crate::{Candidate, Retention};

#[test]
fn a_value_larger_than_the_budget_is_served_and_not_kept() {
    let cache = cache(10, 100);
    cache.insert(key(1), text(60));
    let served = cache.get_or_compute(key(2), || Ok::<_, CacheError>(text(101))).unwrap();
    assert_eq!(served.value.len(), 101);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.resident, Size { entries: 1, bytes: 60 });
    assert_eq!((snapshot.not_kept, snapshot.evicted.entries), (1, 0));
}

#[test]
fn few_large_entries_over_the_byte_budget_are_never_all_evicted() {
    let cache = cache(100, 100);
    for number in 0..20 {
        assert!(cache.insert(key(number), text(45)));
        assert!(cache.get(&key(number)).is_some(), "the newest stays");
        let resident = cache.snapshot().resident;
        assert!(resident.bytes <= 100 && resident.entries == 2.min(number + 1), "{resident:?}");
    }
    assert_exact(&cache);
}

#[test]
fn what_is_used_often_and_costs_much_stays_through_a_scan() {
    let cache = cache(64, 1 << 20);
    let costly = |bytes| Computed { cost: Some(Duration::from_millis(500)), ..text(bytes) };
    for number in 0..8 {
        cache.insert(key(number), costly(100));
    }
    for round in 0..20 {
        for hot in 0..8 {
            assert!(cache.get(&key(hot)).is_some(), "hot entry {hot} was evicted in round {round}");
        }
        for scanned in 0..30 {
            let cheap = Computed { cost: Some(Duration::from_millis(1)), ..text(100) };
            cache.insert(key(1000 + round * 100 + scanned), cheap);
        }
    }
    assert!(cache.snapshot().evicted.entries > 400);
    assert_exact(&cache);
}

#[test]
fn a_full_cache_stays_full() {
    let cache = cache(64, 1 << 20);
    for number in 0..1_000 {
        cache.insert(key(number), text(100));
        let entries = cache.snapshot().resident.entries;
        assert_eq!(entries, 64.min(number + 1), "no more is retired than room is needed for");
    }
}

#[test]
fn what_a_tier_holds_is_worth_its_load_and_not_its_making() {
    let stays = |in_lower_tier: bool, load: Option<Duration>| {
        let cache = cache(8, 1 << 20);
        let costing = |millis| Computed { cost: Some(Duration::from_millis(millis)), ..text(100) };
        cache.insert(key(0), Computed { in_lower_tier, ..costing(900) });
        for number in 1..8 {
            cache.insert(key(number), costing(30));
        }
        if let Some(took) = load {
            cache.note_load(took);
        }
        cache.insert(key(8), costing(30));
        cache.get(&key(0)).is_some()
    };
    assert!(stays(false, Some(Duration::from_millis(1))), "no tier has it");
    assert!(stays(true, None), "nobody knows what a load takes");
    assert!(stays(true, Some(Duration::from_millis(500))));
    assert!(!stays(true, Some(Duration::from_millis(1))));
}

/// A caller's retention that says little and what it says is wrong.
struct Careless;

impl Retention for Careless {
    fn victims(&self, candidates: &[Candidate], _: Size) -> Vec<usize> {
        vec![candidates.len() + 7, 1, 1]
    }

    fn worth(&self, _: &Candidate) -> f64 {
        f64::NAN
    }
}

#[test]
fn a_careless_retention_breaks_no_budget() {
    let config = Config::with_budget(Size { entries: 20, bytes: 2_000 });
    let cache: Cache<PtxKey, Arc<str>> =
        Cache::new(Config { retention: Arc::new(Careless), ..config });
    for number in 0..200 {
        assert!(cache.insert(key(number % 50), text(90 + usize::try_from(number).unwrap() % 20)));
        assert!(cache.snapshot().resident.bytes <= 2_000);
    }
    assert!(cache.snapshot().resident.entries >= 16);
    assert_exact(&cache);
}

#[test]
fn a_smaller_budget_is_met_at_once() {
    let cache = cache(100, 10_000);
    for number in 0..100 {
        cache.insert(key(number), text(100));
    }
    cache.reconfigure(Config::with_budget(Size { entries: 30, bytes: 2_000 }));
    let resident = cache.snapshot().resident;
    assert!(resident.entries <= 20 && resident.bytes <= 2_000 && resident.entries > 0);
    assert_exact(&cache);
    cache.reconfigure(Config::with_budget(Size { entries: 0, bytes: 0 }));
    assert_eq!(cache.snapshot().resident, Size::default());
    assert!(!cache.insert(key(1), text(1)));
}

fn newcomer(cache: &Texts, slot: &Slot<PtxKey, Arc<str>>) -> Newcomer {
    let entry = cache.candidate(slot);
    let adds = Size { entries: 1, bytes: entry.bytes };
    Newcomer { hash: 0, entry, adds }
}

#[test]
fn no_room_is_made_for_what_the_budget_in_force_cannot_hold() {
    let cache = cache(10, 100);
    (1..=10).for_each(|number| assert!(cache.insert(key(number), text(10))));
    // As an insertion asks that was refused under a larger budget.
    let about =
        About { cost: Duration::from_secs(1), in_lower_tier: false, family: 0, born_seconds: 0 };
    let large = Slot::new(key(11), text(101).value, about, Usage::once(0));
    assert!(!cache.make_room(Some(&newcomer(&cache, &large))));
    assert_eq!(cache.snapshot().resident.entries, 10);
}

/// Lets everything be used by another thread while it chooses. Holds everything worth nothing.
struct Observed {
    choices: AtomicUsize,
    uses: mpsc::SyncSender<mpsc::Sender<()>>,
}

impl Retention for Observed {
    fn victims(&self, candidates: &[Candidate], _: Size) -> Vec<usize> {
        self.choices.fetch_add(1, Ordering::SeqCst);
        let (done, is_done) = mpsc::channel();
        self.uses.send(done).unwrap();
        is_done.recv().unwrap();
        (1..candidates.len()).collect()
    }

    fn worth(&self, _: &Candidate) -> f64 {
        0.0
    }
}

#[test]
fn hits_while_it_is_chosen_do_not_undo_the_choice() {
    let (uses, asked) = mpsc::sync_channel::<mpsc::Sender<()>>(0);
    let observed = Arc::new(Observed { choices: AtomicUsize::new(0), uses });
    let config = Config::with_budget(Size { entries: 8, bytes: 1_000 });
    let retention: Arc<dyn Retention> = Arc::clone(&observed) as _;
    let cache: Texts = Cache::new(Config { retention, ..config.clone() });
    for number in 0..8 {
        cache.insert(key(number), text(1));
    }
    let choices = thread::scope(|scope| {
        let cache = &cache;
        scope.spawn(move || {
            for done in asked {
                (0..8).for_each(|number| drop(cache.get(&key(number))));
                done.send(()).unwrap();
            }
        });
        cache.insert(key(8), text(1));
        // The last sender goes, and with it the thread.
        cache.reconfigure(config);
        let choices = observed.choices.load(Ordering::SeqCst);
        drop(observed);
        choices
    });
    assert_eq!(choices, 1);
}

#[test]
fn where_there_is_room_nothing_is_weighed_against_the_newcomer() {
    let (uses, _used) = mpsc::sync_channel(0);
    let retention = Arc::new(Observed { choices: AtomicUsize::new(0), uses });
    let cache: Texts = Cache::new(Config { retention, ..Config::default() });
    let about = About { cost: Duration::ZERO, in_lower_tier: false, family: 0, born_seconds: 0 };
    let again = Usage::again(Usage::once(0).word(), 3);
    let slot = Slot::new(key(1), text(1).value, about, again);
    assert!(cache.make_room(Some(&newcomer(&cache, &slot))));
}

#[test]
fn replacing_a_value_by_a_larger_one_retires_no_more_than_it_needs() {
    let cache = cache(10, 100);
    (1..=10).for_each(|number| assert!(cache.insert(key(number), text(10))));
    assert!(cache.insert(key(1), text(20)), "its own ten bytes are free for it");
    assert_eq!(cache.snapshot().evicted.entries, 1);
    assert_eq!(cache.snapshot().resident, Size { entries: 9, bytes: 100 });
    assert_exact(&cache);
}

#[test]
fn what_went_before_a_large_one_and_fits_beside_the_newcomer_stays() {
    let costing =
        |millis, bytes| Computed { cost: Some(Duration::from_millis(millis)), ..text(bytes) };
    let cache = cache(10, 100);
    cache.insert(key(1), costing(1, 10));
    cache.insert(key(2), costing(18, 90));
    assert!(cache.insert(key(3), costing(90, 85)));
    assert_eq!(cache.snapshot().resident, Size { entries: 2, bytes: 95 });
    assert!(cache.get(&key(1)).is_some());
}
