use proptest::prelude::*;

use super::{Entry, Retainer};
use crate::curve::Curve;
use crate::exact_search::MOST_CANDIDATES;
use crate::size::Size;

fn entry(worth: f64, bytes: u64, family: u64) -> Entry {
    Entry { worth, bytes, family, pinned: false }
}

fn pinned(worth: f64, bytes: u64, family: u64) -> Entry {
    Entry { pinned: true, ..entry(worth, bytes, family) }
}

fn kept(entries: &[Entry], budget: Size) -> (Vec<usize>, bool) {
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let kept = retainer.retain(entries, budget).unwrap();
    (kept.entries.to_vec(), kept.over_budget)
}

#[test]
fn everything_stays_while_it_fits() {
    let entries = [entry(1.0, 10, 1), entry(0.0, 10, 1), entry(2.0, 0, 2)];
    assert_eq!(kept(&entries, Size { entries: 3, bytes: 20 }), (vec![0, 1, 2], false));
    assert_eq!(kept(&[], Size { entries: 0, bytes: 0 }), (vec![], false));
}

#[test]
fn an_unrelated_entry_of_less_worth_stays_before_a_variant() {
    let entries = [entry(10.0, 1, 7), entry(9.9, 1, 7), entry(5.0, 1, 8)];
    assert_eq!(kept(&entries, Size { entries: 2, bytes: 100 }).0, [0, 2]);
}

#[test]
fn an_entry_larger_than_the_budget_evicts_nothing() {
    for others in [3, 40] {
        let mut entries: Vec<Entry> = (0..others).map(|family| entry(1.0, 10, family)).collect();
        entries.push(entry(1e12, 10 * others + 1, 1_000));
        let (stay, _) = kept(&entries, Size { entries: 100, bytes: 10 * others });
        assert_eq!(stay.len(), entries.len() - 1);
    }
}

#[test]
fn of_few_large_entries_the_best_that_fits_stays() {
    // Each fits, any two do not: a policy that evicts until the rest fits would keep nothing or
    // the newest.
    let entries = [entry(3.0, 60, 1), entry(8.0, 70, 2), entry(5.0, 80, 3)];
    assert_eq!(kept(&entries, Size { entries: 10, bytes: 100 }).0, [1]);
}

#[test]
fn pinned_entries_stay_and_count_against_the_budget() {
    let entries = [pinned(0.0, 50, 1), entry(9.0, 40, 2), entry(8.0, 60, 3)];
    assert_eq!(kept(&entries, Size { entries: 2, bytes: 100 }), (vec![0, 1], false));
}

#[test]
fn nothing_stays_beside_pinned_entries_over_the_budget() {
    let entries = [entry(1.0, 1, 0), pinned(1.0, 60, 1), entry(9.0, 0, 2), pinned(1.0, 60, 3)];
    for budget in [Size { entries: 10, bytes: 100 }, Size { entries: 1, bytes: 1_000 }] {
        assert_eq!(kept(&entries, budget), (vec![1, 3], true));
    }
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let huge = [pinned(1.0, u64::MAX, 0), pinned(1.0, u64::MAX, 0)];
    let kept = retainer.retain(&huge, Size { entries: 9, bytes: 5 }).unwrap();
    assert!(kept.over_budget);
    assert_eq!(kept.size.bytes, u64::MAX);
}

#[test]
fn ties_go_to_the_earlier_entry() {
    for count in [6, 60] {
        let entries: Vec<Entry> = (0..count).map(|family| entry(1.0, 10, family)).collect();
        assert_eq!(kept(&entries, Size { entries: 100, bytes: 39 }).0, [0, 1, 2]);
        assert_eq!(kept(&entries, Size { entries: 3, bytes: 1_000 }).0, [0, 1, 2]);
    }
}

/// The value of a set by its definition, without the crate's code.
fn worth(entries: &[Entry], mask: usize) -> f64 {
    let mut families: Vec<u64> = entries.iter().map(|entry| entry.family).collect();
    families.sort_unstable();
    families.dedup();
    let of_family = |family: u64| {
        let members =
            || entries.iter().enumerate().filter(move |(_, entry)| entry.family == family);
        let largest = members().map(|(_, entry)| entry.worth).fold(0.0, f64::max);
        let chosen = members().filter(|(position, _)| mask >> position & 1 == 1);
        (largest * chosen.map(|(_, entry)| entry.worth).sum::<f64>()).sqrt()
    };
    families.into_iter().map(of_family).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn few_entries_keep_the_best_subset_there_is(
        entries in prop::collection::vec(
            (prop_oneof![0.0..100.0_f64, (0_u8..4).prop_map(f64::from)], 1_u64..1_000, 0_u64..5, prop::bool::weighted(0.1))
                .prop_map(|(worth, bytes, family, pinned)| Entry { worth, bytes, family, pinned }),
            1..=MOST_CANDIDATES,
        ),
        bytes in 0_u64..5_000,
        count in 0_u64..16,
    ) {
        let budget = Size { entries: count, bytes };
        let feasible = |mask: usize| {
            let chosen = || entries.iter().enumerate().filter(|(position, _)| mask >> position & 1 == 1);
            chosen().map(|(_, entry)| entry.bytes).sum::<u64>() <= bytes
                && chosen().count() as u64 <= count
                && entries.iter().enumerate().all(|(position, entry)| !entry.pinned || mask >> position & 1 == 1)
        };
        let best = (0..1_usize << entries.len()).filter(|&mask| feasible(mask))
            .map(|mask| worth(&entries, mask)).reduce(f64::max);
        let mut retainer = Retainer::new(Curve::SquareRoot);
        let kept = retainer.retain(&entries, budget)?;
        let mask = kept.entries.iter().fold(0, |mask, position| mask | 1 << position);
        prop_assert_eq!(kept.over_budget, best.is_none());
        if let Some(best) = best {
            prop_assert!(feasible(mask));
            prop_assert!((worth(&entries, mask) - best).abs() <= 1e-9 * best, "{} of {best}", worth(&entries, mask));
            prop_assert!((kept.value - best).abs() <= 1e-9 * best);
        }
    }

    #[test]
    fn many_entries_keep_the_budget_and_leave_no_room_unused(
        entries in prop::collection::vec(
            (0.0..100.0_f64, 0_u64..1_000, 0_u64..20).prop_map(|(worth, bytes, family)| entry(worth, bytes, family)),
            15..120,
        ),
        bytes in 0_u64..20_000,
        count in 0_u64..120,
    ) {
        let mut retainer = Retainer::new(Curve::Log1p);
        let kept = retainer.retain(&entries, Size { entries: count, bytes })?;
        let total: u64 = kept.entries.iter().map(|&position| entries[position].bytes).sum();
        prop_assert_eq!(kept.size.bytes, total);
        prop_assert!(total <= bytes && kept.size.entries <= count && !kept.over_budget);
        let left_out = (0..entries.len()).filter(|position| !kept.entries.contains(position));
        for position in left_out {
            prop_assert!(kept.size.entries == count || total + entries[position].bytes > bytes);
        }
    }

    #[test]
    fn without_variants_and_under_a_count_the_most_valuable_stay(
        worths in prop::collection::vec(0_u8..20, 1..80),
        count in 0_u64..90,
    ) {
        let entries: Vec<Entry> =
            (0..).zip(&worths).map(|(family, &worth)| entry(worth.into(), 10, family)).collect();
        let mut retainer = Retainer::new(Curve::SquareRoot);
        let bytes = 10 * entries.len() as u64;
        let kept = retainer.retain(&entries, Size { entries: count, bytes }).unwrap();
        let mut best: Vec<usize> = (0..entries.len()).collect();
        best.sort_by_key(|&position| std::cmp::Reverse(worths[position]));
        best.truncate(usize::try_from(count)?);
        best.sort_unstable();
        prop_assert_eq!(kept.entries, &best);
        prop_assert_eq!(kept.size.bytes, 10 * best.len() as u64);
    }
}
