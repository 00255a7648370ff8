//! Adversaries.

use std::time::Duration;

use proptest::prelude::*;
use ptx_key::{Digest, PtxKey};

use super::*;
use crate::{Cache, CacheError, Computed, Config, Source, Weigh};

#[derive(Clone)]
struct Bytes(u64);

impl Weigh for Bytes {
    fn weight(&self) -> u64 {
        self.0
    }
}

type Texts = Cache<PtxKey, Bytes>;

fn cache(entries: u64, bytes: u64) -> Texts {
    Cache::new(Config::with_budget(Size { entries, bytes }))
}

/// Whether a request for `number` hits; one that does not makes `bytes` at a cost of `millis`.
fn ask(cache: &Texts, number: u64, bytes: u64, millis: u64, family: Option<u64>) -> bool {
    let digest = |number: u64| Digest::of_bytes(&number.to_le_bytes());
    let made = || {
        Ok::<_, CacheError>(Computed {
            cost: Some(Duration::from_millis(millis)),
            family: family.map(digest),
            ..Computed::from(Bytes(bytes))
        })
    };
    let key = PtxKey::from_bytes(*digest(number).as_bytes());
    cache.get_or_compute(key, made).unwrap().source == Source::Memory
}

#[test]
fn requests_that_never_come_again_do_not_flush_a_family_in_use() {
    let cache = cache(64, 1 << 30);
    let mut missed = 0;
    for scanned in 0..2_000 {
        // Sixteen variants, each asked for between any sixteen of the scan.
        missed += u32::from(!ask(&cache, scanned % 16, 1_000, 50, Some(1)));
        ask(&cache, 1_000 + scanned, 1_000, 50, None);
    }
    assert!(missed <= 32, "{missed} of 2,000 uses missed, 16 of them the first");
}

#[test]
fn what_is_asked_for_once_and_is_huge_does_not_flush_what_is_in_use() {
    let cache = cache(1_000, 100_000);
    (0..50).for_each(|number| {
        ask(&cache, number, 1_000, 50, None);
    });
    for _ in 0..8 {
        (0..50).for_each(|number| {
            ask(&cache, number, 1_000, 50, None);
        });
    }
    // Larger than what is free, and than all that there may be.
    ask(&cache, 1_000, 60_000, 50, None);
    ask(&cache, 1_001, 200_000, 50, None);
    let resident = (0..50).filter(|&number| ask(&cache, number, 1_000, 50, None)).count();
    assert!(resident >= 25, "{resident} of 50 stayed");
    ask(&cache, 2_000, 1_000, 50, None);
    let resident = (0..50).filter(|&number| ask(&cache, number, 1_000, 50, None)).count();
    assert!(resident >= 45, "{resident} of 50 stayed");
}

#[test]
fn a_new_phase_is_served_within_a_few_turns() {
    for entries in [1, 2, 3, 8, 16, 100] {
        let cache = cache(entries, 1 << 30);
        let turn = |first: u64, millis: u64| -> u64 {
            (first..first + entries).map(|n| u64::from(ask(&cache, n, 1_000, millis, None))).sum()
        };
        // What goes out of use costs twenty times as much as what comes into use.
        for _ in 0..50 {
            turn(0, 200);
        }
        assert_eq!(turn(0, 200), entries);
        for _ in 0..200 {
            turn(1_000, 10);
        }
        let hits = turn(1_000, 10);
        assert_eq!(hits, entries, "of {entries}");
    }
}

#[test]
fn in_a_loop_longer_than_the_cache_what_costs_most_stays() {
    let cache = cache(50, 1 << 30);
    let cost = |number: u64| if number.is_multiple_of(4) { 500 } else { 5 };
    let mut missed = 0;
    for turn in 0..20 {
        for number in 0..100 {
            let hit = ask(&cache, number, 1_000, cost(number), None);
            missed += u32::from(!hit && turn >= 10 && number.is_multiple_of(4));
        }
    }
    assert!(missed <= 5, "{missed} of 250 costly requests missed");
}

#[test]
fn tiny_caches_hit_in_loops_of_every_length() {
    for entries in 1..=16_u64 {
        for length in [entries, entries + 1, 2 * entries, 3 * entries] {
            let cache = cache(entries, 1 << 30);
            let mut hits = 0;
            for request in 0..length * 60 {
                let hit = ask(&cache, request % length, 1_000, 50, None);
                hits += u64::from(hit && request >= length * 30);
                assert!(cache.snapshot().resident.entries <= entries);
            }
            let best = 30 * entries;
            assert!(hits * 2 >= best, "{entries} of {length}: {hits} of at most {best} hits");
        }
    }
}

fn candidate(bytes: u64, idle: u32, gaps: [u32; 2], millis: u64) -> Candidate {
    Candidate {
        bytes,
        idle,
        gaps,
        cost: Duration::from_millis(millis),
        family: u32::try_from(bytes + millis).unwrap_or(0),
    }
}

/// The positions of those that [`FamilyRetention`] lets stay, in order.
fn staying(candidates: &[Candidate], budget: Size) -> Vec<usize> {
    let leaving = FamilyRetention::default().victims(candidates, budget);
    (0..candidates.len()).filter(|position| !leaving.contains(position)).collect()
}

#[test]
fn what_is_long_overdue_goes_before_what_is_expected() {
    let overdue = candidate(100, 40, [4, 4], 50);
    let expected = candidate(101, 4, [8, 8], 50);
    assert_eq!(staying(&[overdue, expected], Size { entries: 1, bytes: u64::MAX }), [1]);
}

#[test]
fn between_bursts_the_longer_gap_counts_and_within_one_both_do() {
    let within = candidate(100, 1, [2, 32], 50);
    let between = candidate(100, 3, [2, 32], 50);
    assert!((expected_wait(&within, 1.0) - 8.0).abs() < 1e-9);
    assert!((expected_wait(&between, 1.0) - 32.0).abs() < 1e-9);
    assert!((expected_wait(&candidate(100, 50, [2, 32], 50), 1.0) - 50.0).abs() < 1e-9);
}

#[test]
fn equals_stay_in_the_order_in_which_they_are_given() {
    let equal = |family| Candidate { family, ..candidate(100, 2, [4, 4], 50) };
    let candidates: Vec<Candidate> = (0..40).map(equal).collect();
    let kept = staying(&candidates, Size { entries: 7, bytes: u64::MAX });
    assert_eq!(kept, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_least_dense_goes_first() {
    let candidates = [
        candidate(100, 2, [4, 4], 50),
        candidate(100, 2, [4, 4], 10),
        candidate(200, 2, [4, 4], 90),
        candidate(100, 2, [4, 4], 70),
    ];
    let leaving = FamilyRetention::default().victims(&candidates, Size { entries: 1, bytes: 100 });
    assert_eq!(leaving, [1, 2, 0]);
}

/// Asks for 100 keys in turn, of which 50 fit, and gives the share of hits in the last five turns.
fn loop_hits(cost: impl Fn(u64) -> u64) -> f64 {
    let cache = cache(50, 1 << 30);
    let mut hits = 0;
    for turn in 0..20 {
        for number in 0..100 {
            let hit = ask(&cache, number, 1_000, cost(number), None);
            hits += u32::from(hit && turn >= 15);
        }
    }
    f64::from(hits) / 500.0
}

#[test]
fn a_loop_longer_than_the_cache_does_not_wash_through_it() {
    let hits = loop_hits(|_| 50);
    assert!(hits > 0.4, "{hits} of what an optimal choice would have hit half");
    let hits = loop_hits(|number| 1 + number % 10);
    assert!(hits > 0.35, "{hits}");
}

#[test]
fn one_that_nearly_fills_the_budget_does_not_flush_what_is_in_use() {
    let cache = cache(1_000, 100_000);
    for number in (0..50).cycle().take(450) {
        ask(&cache, number, 1_000, 50, None);
    }
    for enormous in 0..20 {
        ask(&cache, 1_000 + enormous, 95_000, 50, None);
        let resident = cache.snapshot().resident.entries;
        assert!(resident >= 45, "{resident} of 50 stayed");
        for number in (0..50).cycle().take(100) {
            ask(&cache, number, 1_000, 50, None);
        }
    }
    // Nobody asks for the small ones any more.
    let missed = (0..2_000).filter(|_| !ask(&cache, 2_000, 95_000, 50, None)).count();
    assert!(missed < 500, "what alone is in use stays out for {missed} requests");
}

proptest! {
    #[test]
    fn few_large_entries_keep_the_best_subset(
        parts in prop::collection::vec((1_u64..1_000, 0_u32..20, [0_u32..20, 0..20], 1_u64..500), 1..9),
        bytes in 1_u64..3_000,
    ) {
        let candidates: Vec<Candidate> = (0..)
            .zip(&parts)
            .map(|(family, &(bytes, idle, gaps, millis))| {
                Candidate { family, ..candidate(bytes, idle, gaps, millis) }
            })
            .collect();
        let mean_gap = mean_gap(&candidates);
        let worth = |of: &[usize]| -> f64 {
            of.iter().map(|&position| worth(&candidates[position], mean_gap)).sum()
        };
        let fits = |of: &[usize]| of.iter().map(|&place| candidates[place].bytes).sum::<u64>() <= bytes;
        let best = (0_u32..1 << candidates.len())
            .map(|set| (0..candidates.len()).filter(|place| set >> place & 1 == 1).collect::<Vec<_>>())
            .filter(|set| fits(set))
            .map(|set| worth(&set))
            .fold(0.0, f64::max);
        let kept = staying(&candidates, Size { entries: 100, bytes });
        prop_assert!(fits(&kept));
        prop_assert!(worth(&kept) >= best * (1.0 - 1e-9), "{} of {best}", worth(&kept));
    }

    #[test]
    fn ticks_that_jump_leave_every_worth_finite_and_positive(
        idle: u32, gaps: [u32; 2], others: u32,
    ) {
        let jumped = Candidate { idle, gaps, ..candidate(10, 0, [0, 0], 0) };
        let other = Candidate { idle: others, ..jumped };
        let worth = worth(&jumped, mean_gap(&[jumped, other]));
        prop_assert!(worth.is_finite() && worth > 0.0, "{worth}");
        let kept = staying(&[jumped, other], Size { entries: 1, bytes: 10 });
        prop_assert_eq!(kept.len(), 1);
    }
}
