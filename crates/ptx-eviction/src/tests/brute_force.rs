//! Every bound that the docs state, against the true optimum of small problems.

use std::f64::consts::E;

use proptest::prelude::*;

use super::instance::{Chosen, Instance, MOST_ENTRIES, Start, instance};
use super::plain_greedy::{lazy_greedy, plain_greedy};
use crate::density_greedy::DensityGreedy;
use crate::exact_search::{ExactSearch, MOST_CANDIDATES};
use crate::retainer::Retainer;
use crate::size::Size;
use crate::top_gains::TopGains;

/// Sums in different orders differ by this share at most.
const ROUNDING: f64 = 1e-9;

fn is_at_least(value: f64, share: f64, optimum: f64) -> bool {
    value >= share * optimum - ROUNDING * optimum
}

fn density(start: &mut Start) -> Chosen {
    start.choose(|Start { problem, pinned, candidates }, chosen| {
        DensityGreedy::default().search(problem, pinned, candidates, chosen);
    })
}

fn exact(start: &mut Start) -> Chosen {
    start.choose(|Start { problem, pinned, candidates }, chosen| {
        ExactSearch::default().search(problem, pinned, candidates, chosen);
    })
}

/// What must hold for a result under any budget.
fn check_sound(instance: &Instance, budget: Size, chosen: &Chosen) {
    let mask = chosen.mask();
    assert!(chosen.entries.is_sorted_by(|left, right| left < right), "sorted, each once");
    assert!(instance.is_feasible(budget, mask), "{budget:?}: {chosen:?} exceeds it");
    let bytes = chosen.entries.iter().map(|&entry| instance.entries[entry].bytes).sum();
    assert_eq!(chosen.size, Size { entries: chosen.entries.len() as u64, bytes });
    let value = instance.value(mask);
    assert!((chosen.value - value).abs() <= ROUNDING * value, "{} of {value}", chosen.value);
    for entry in (0..instance.entries.len()).filter(|entry| mask >> entry & 1 == 0) {
        let still_fits = instance.is_feasible(budget, mask | 1 << entry);
        assert!(!still_fits, "{budget:?}: {entry} still fits beside {chosen:?}");
    }
}

/// The share of the optimum that `DensityGreedy` promises.
fn density_bound(budget: Size) -> f64 {
    match (budget.entries, budget.bytes) {
        (_, u64::MAX) => 1.0 - 1.0 / E,
        (u64::MAX, _) => 0.5,
        _ => 0.5 * (1.0 - (-0.5_f64).exp()),
    }
}

fn check_every_bound(instance: &Instance) -> Result<(), TestCaseError> {
    let values = instance.values();
    let mut retainer = Retainer::new(instance.curve);
    for budget in instance.budgets() {
        let kept = retainer.retain(&instance.entries, budget)?;
        let Some(optimum) = instance.optimum(&values, budget) else {
            prop_assert!(instance.start(budget).is_none());
            prop_assert!(kept.over_budget);
            continue;
        };
        prop_assert!(!kept.over_budget);
        prop_assert!(is_at_least(kept.value, 1.0, optimum), "{:?}: {kept:?} of {optimum}", budget);

        let mut start = instance.start(budget).unwrap();
        let lazy = start.choose(|start, chosen| lazy_greedy(start, chosen, |_, gain| gain));
        check_sound(instance, budget, &lazy);
        let plain = start.choose(|start, chosen| plain_greedy(start, chosen, |_, gain| gain));
        prop_assert_eq!(&lazy, &plain, "{:?}: lazy is plain", budget);

        let dense = density(&mut start);
        check_sound(instance, budget, &dense);
        let bound = density_bound(budget);
        prop_assert!(
            is_at_least(dense.value, bound, optimum),
            "{budget:?}: {dense:?} of {optimum}"
        );
        prop_assert!(is_at_least(dense.value, 1.0, plain.value), "never below greedy by gain");

        // It reorders the candidates, so it comes last.
        let exact = exact(&mut start);
        check_sound(instance, budget, &exact);
        prop_assert!(is_at_least(exact.value, 1.0, optimum), "{budget:?}: {exact:?} of {optimum}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_bound_and_every_budget_holds(instance in instance()) {
        check_every_bound(&instance)?;
    }

    #[test]
    fn every_bound_and_every_budget_holds_without_variants(instance in instance()) {
        check_every_bound(&instance.without_variants())?;
    }
}

proptest! {
    #[test]
    fn top_gains_are_the_choice_of_greedy(instance in instance()) {
        let instance = instance.without_variants();
        let budget = Size { entries: instance.budget.entries, ..Size::UNBOUNDED };
        let Some(mut start) = instance.start(budget) else { return Ok(()) };
        let top = start.choose(|Start { problem, candidates, .. }, chosen| {
            TopGains::default().search(problem, candidates, chosen);
        });
        let plain = start.choose(|start, chosen| plain_greedy(start, chosen, |_, gain| gain));
        prop_assert_eq!(top, plain);
    }
}

proptest! {
    // It needs no optimum, so it can afford more cases.
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn density_greedy_is_at_least_greedy_plus_max(instance in instance()) {
        let [.., bytes, both] = instance.budgets();
        for budget in [bytes, both] {
            let Some(mut start) = instance.start(budget) else { continue };
            let dense = density(&mut start);
            if !start.pinned.bytes_bind(&start.problem, &start.candidates) {
                let plain = start.choose(|start, chosen| plain_greedy(start, chosen, |_, gain| gain));
                prop_assert_eq!(dense, plain, "bytes that do not bind do not count");
                continue;
            }
            let expected = greedy_plus_max(&instance, budget);
            prop_assert!(is_at_least(dense.value, 1.0, expected), "{} of {expected}", dense.value);
        }
    }
}

/// `Greedy+Max` as the paper states it: every gain in every round, by the definition of the value.
/// Where the count binds, the price of an entry includes its share of the bytes.
fn greedy_plus_max(instance: &Instance, budget: Size) -> f64 {
    let float = |number: u64| f64::from(u32::try_from(number).unwrap());
    let positions = || 0..instance.entries.len();
    let mut room = budget;
    let mut mask = 0;
    let pinned = positions().filter(|&at| instance.entries[at].pinned);
    let take = |mask: &mut usize, room: &mut Size, at: usize| {
        *mask |= 1 << at;
        *room = Size { entries: room.entries - 1, bytes: room.bytes - instance.entries[at].bytes };
    };
    pinned.for_each(|at| take(&mut mask, &mut room, at));
    let fits = |mask: usize, room: Size, at: usize| {
        mask >> at & 1 == 0 && room.entries > 0 && instance.entries[at].bytes <= room.bytes
    };
    let free = positions().filter(|&at| fits(mask, room, at)).count() as u64;
    let slot_price =
        if free > room.entries { float(room.bytes.max(1)) / float(room.entries) } else { 0.0 };
    let mut best = instance.value(mask);
    loop {
        let value = instance.value(mask);
        let mut densest: Option<(f64, usize)> = None;
        for at in positions().filter(|&at| fits(mask, room, at)) {
            let gain = instance.value(mask | 1 << at) - value;
            best = best.max(value + gain);
            let density = gain / (float(instance.entries[at].bytes) + slot_price);
            // Nothing over nothing: what is free and worthless may come at any time.
            let density = if density.is_nan() { 0.0 } else { density };
            if densest.is_none_or(|(most, _)| density > most) {
                densest = Some((density, at));
            }
        }
        let Some((_, at)) = densest else { return best };
        take(&mut mask, &mut room, at);
    }
}

#[test]
fn exact_search_cuts_what_cannot_win() {
    assert_eq!(MOST_ENTRIES, MOST_CANDIDATES);
    let worths: Vec<f64> = (1..=14_u8).map(|rank| 100.0 + f64::from(rank * rank)).collect();
    let bytes: Vec<u64> = (1..=14).map(|rank| 100 + 3 * rank).collect();
    let budget = Size { bytes: 800, ..Size::UNBOUNDED };
    let mut start = Instance::of_unrelated(&worths, &bytes, budget).start(budget).unwrap();
    exact(&mut start);
    let gains = start.problem.gains.get();
    assert!(gains <= 30, "{gains} gains of up to 16,384");
}

/// What density greedy keeps of entries without variants.
fn densest(worths: &[f64], bytes: &[u64], budget: Size) -> Vec<usize> {
    density(&mut Instance::of_unrelated(worths, bytes, budget).start(budget).unwrap()).entries
}

#[test]
fn density_alone_would_be_arbitrarily_bad() {
    // The dense entry keeps out the large one. The best addition to the empty prefix is the large one.
    let budget = Size { bytes: 1_000, ..Size::UNBOUNDED };
    assert_eq!(densest(&[2.0, 1_000.0], &[1, 1_000], budget), [1]);
}

#[test]
fn the_best_addition_to_a_prefix_beats_both_greedies_and_both_extremes() {
    // By gain: 0 alone. By density: 1 and 2, and nothing fits beside them. Best single: 0. Best: 1
    // and 3.
    let budget = Size { bytes: 10, ..Size::UNBOUNDED };
    assert_eq!(densest(&[10.0, 6.4, 4.5, 8.0], &[10, 4, 3, 6], budget), [1, 3]);
}

#[test]
fn a_slot_has_its_price_where_both_budgets_bind() {
    // By gain: the large 3 and two small ones. By bytes: three small ones. Best: three of middle
    // size.
    let worths = [5.0, 5.0, 5.0, 31.0, 30.0, 30.0, 30.0];
    let bytes = [1, 1, 1, 90, 33, 33, 33];
    assert_eq!(densest(&worths, &bytes, Size { entries: 3, bytes: 100 }), [4, 5, 6]);
}

#[test]
fn ties_go_to_the_lower_position() {
    let mut instance = Instance::of_unrelated(&[1.0; 6], &[1; 6], Size::UNBOUNDED);
    instance.entries[4].pinned = true;
    for budget in [Size { entries: 3, ..Size::UNBOUNDED }, Size { bytes: 3, ..Size::UNBOUNDED }] {
        let mut start = instance.start(budget).unwrap();
        let lazy = start.choose(|start, chosen| lazy_greedy(start, chosen, |_, gain| gain));
        assert_eq!(lazy.entries, [0, 1, 4]);
        assert_eq!(density(&mut start).entries, [0, 1, 4]);
        assert_eq!(exact(&mut start).entries, [0, 1, 4]);
    }
}
