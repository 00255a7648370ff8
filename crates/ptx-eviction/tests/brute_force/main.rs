//! Every solver against the true optimum of small problems.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod instance;

use std::cell::Cell;
use std::f64::consts::E;

use instance::{Instance, Limits, instance, is_pinned_over_budget, mask, optimum, values};
use proptest::prelude::*;
use ptx_eviction::{
    Constraint, EXACT_CANDIDATES, Error, Modular, Objective, Scratch, Selection, SieveStreaming,
    density_greedy, evaluate, exact_search, lazy_greedy, plain_greedy, stochastic_greedy,
};

/// Sums in different orders differ by this share at most.
const ROUNDING: f64 = 1e-9;

fn at_least(value: f64, share: f64, optimum: f64) -> bool {
    value >= share * optimum - ROUNDING * optimum
}

/// What must hold for a result under any constraint; its set as a mask.
fn sound<O: Objective>(
    instance: &Instance,
    objective: &O,
    limits: Limits,
    selection: Selection<'_>,
) -> usize {
    let mask = mask(selection.elements);
    assert!(selection.elements.is_sorted_by(|left, right| left < right), "sorted, each once");
    assert!(
        instance.feasible(limits, mask),
        "{limits:?}: {:?} breaks a budget",
        selection.elements
    );
    let bytes = selection.elements.iter().map(|&element| instance.sizes[element]);
    assert_eq!(selection.bytes, if limits.bytes { bytes.sum() } else { 0 });
    let value = evaluate(objective, selection.elements, &mut O::State::default()).unwrap();
    assert_eq!(selection.value.to_bits(), value.to_bits(), "value of the set");
    // Nothing that fits was left out.
    for element in (0..instance.weights.len()).filter(|element| mask >> element & 1 == 0) {
        assert!(
            !instance.feasible(limits, mask | 1 << element),
            "{limits:?}: {element} still fits beside {:?}",
            selection.elements
        );
    }
    mask
}

/// The bound that each solver's doc states, as a share of the optimum; `None` where it states none.
fn lazy_bound(limits: Limits) -> Option<f64> {
    match limits {
        Limits { bytes: true, .. } => None,
        Limits { groups: true, .. } => Some(0.5),
        _ => Some(1.0 - 1.0 / E),
    }
}

fn density_bound(limits: Limits) -> Option<f64> {
    match limits {
        Limits { bytes: false, .. } => lazy_bound(limits),
        Limits { groups: true, .. } => None,
        Limits { count: true, .. } => Some(0.5 * (1.0 - (-0.5_f64).exp())),
        _ => Some(0.5),
    }
}

/// Every solver that takes every constraint, under every combination of limits.
fn every_bound_holds<O: Objective>(
    instance: &Instance,
    objective: &O,
) -> Result<(), TestCaseError> {
    let values = values(objective);
    let mut scratch = Scratch::default();
    for limits in Limits::all() {
        let constraint = instance.constraint(limits);
        let optimum = optimum(&values, |mask| instance.feasible(limits, mask));
        let Some(optimum) = optimum else {
            prop_assert!(is_pinned_over_budget(&lazy_greedy(objective, &constraint, &mut scratch)));
            prop_assert!(is_pinned_over_budget(&plain_greedy(
                objective,
                &constraint,
                &mut scratch
            )));
            prop_assert!(is_pinned_over_budget(&density_greedy(
                objective,
                &constraint,
                &mut scratch
            )));
            prop_assert!(is_pinned_over_budget(&exact_search(
                objective,
                &constraint,
                &mut scratch
            )));
            continue;
        };

        let lazy = lazy_greedy(objective, &constraint, &mut scratch)?;
        let lazy_set = sound(instance, objective, limits, lazy);
        let lazy_value = lazy.value;
        if let Some(bound) = lazy_bound(limits) {
            let holds = at_least(lazy_value, bound, optimum);
            prop_assert!(holds, "{limits:?}: {lazy_value} of {optimum}");
        }

        let plain = plain_greedy(objective, &constraint, &mut scratch)?;
        let plain_set = sound(instance, objective, limits, plain);
        prop_assert_eq!(plain_set, lazy_set, "{:?}: lazy is plain", limits);
        prop_assert_eq!(plain.value.to_bits(), lazy_value.to_bits());

        let dense = density_greedy(objective, &constraint, &mut scratch)?;
        sound(instance, objective, limits, dense);
        if let Some(bound) = density_bound(limits) {
            let holds = at_least(dense.value, bound, optimum);
            prop_assert!(holds, "{limits:?}: {} of {optimum}", dense.value);
        }
        prop_assert!(at_least(dense.value, 1.0, lazy_value), "never below greedy by gain");

        let exact = exact_search(objective, &constraint, &mut scratch)?;
        sound(instance, objective, limits, exact);
        let holds = at_least(exact.value, 1.0, optimum);
        prop_assert!(holds, "{limits:?}: {} of {optimum}", exact.value);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_bound_and_every_budget_holds(instance in instance()) {
        every_bound_holds(&instance, &instance.objective())?;
    }

    #[test]
    fn every_bound_and_every_budget_holds_for_modular_objectives(instance in instance()) {
        every_bound_holds(&instance, &Modular::new(&instance.weights)?)?;
    }

    #[test]
    fn stochastic_greedy_meets_its_bound_on_average(instance in instance(), epsilon in 0.01..0.5_f64) {
        let limits = Limits { count: true, bytes: false, groups: false };
        let objective = instance.objective();
        let optimum = optimum(&values(&objective), |mask| instance.feasible(limits, mask));
        let constraint = instance.constraint(limits);
        let mut scratch = Scratch::default();
        let Some(optimum) = optimum else { return Ok(()) };
        let mut total = 0.0;
        let seeds = 32_u32;
        for seed in 0..seeds {
            let found = stochastic_greedy(&objective, &constraint, epsilon, seed.into(), &mut scratch)?;
            sound(&instance, &objective, limits, found);
            total += found.value;
        }
        let bound = 1.0 - 1.0 / E - epsilon;
        prop_assert!(at_least(total / f64::from(seeds), bound, optimum));
    }

    #[test]
    fn the_seed_decides(instance in instance(), seed: u64) {
        let objective = instance.objective();
        let constraint = Constraint::new().at_most(instance.count);
        let (mut first, mut second) = (Scratch::default(), Scratch::default());
        // A scratch that was used for something else changes nothing.
        let everything = Constraint::new();
        lazy_greedy(&objective, &everything, &mut second)?;
        prop_assert_eq!(
            stochastic_greedy(&objective, &constraint, 0.3, seed, &mut first)?,
            stochastic_greedy(&objective, &constraint, 0.3, seed, &mut second)?
        );
    }

    #[test]
    fn a_sieve_meets_its_bound_in_any_order(
        (instance, order) in instance().prop_flat_map(|instance| {
            let order: Vec<usize> = (0..instance.weights.len()).collect();
            (Just(instance), Just(order).prop_shuffle())
        }),
        epsilon in 0.01..0.49_f64,
    ) {
        let objective = instance.objective();
        let values = values(&objective);
        let mut sieve = SieveStreaming::new(&objective, instance.count, epsilon)?;
        for round in 0..2 {
            let mut offered = 0_usize;
            for &element in &order {
                sieve.offer(element)?;
                offered |= 1 << element;
                let optimum = optimum(&values, |mask: usize| {
                    mask & !offered == 0 && mask.count_ones() as usize <= instance.count
                }).unwrap();
                let kept = sieve.selection()?;
                prop_assert!(kept.elements.len() <= instance.count);
                prop_assert!(mask(kept.elements) & !offered == 0);
                prop_assert!(
                    at_least(kept.value, 0.5 - epsilon, optimum),
                    "round {round}: {} of {optimum}", kept.value
                );
            }
            sieve.reset();
            prop_assert!(sieve.selection()?.elements.is_empty());
        }
    }
}

proptest! {
    // Needs no optimum, so it can afford more cases.
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn density_greedy_is_what_its_doc_says(instance in instance(), limits_count: bool) {
        let limits = Limits { count: limits_count, bytes: true, groups: false };
        let objective = instance.objective();
        let mut scratch = Scratch::default();
        let constraint = instance.constraint(limits);
        let Ok(dense) = density_greedy(&objective, &constraint, &mut scratch) else { return Ok(()) };
        let dense = dense.value;
        if !bytes_bind(&instance) {
            let lazy = lazy_greedy(&objective, &constraint, &mut scratch)?;
            prop_assert_eq!(dense.to_bits(), lazy.value.to_bits(), "bytes that do not bind do not count");
            return Ok(());
        }
        let count = if limits_count { instance.count } else { usize::MAX };
        let expected = greedy_plus_max(&instance, count, &objective);
        prop_assert!(at_least(dense, 1.0, expected), "{dense} of {expected}");
    }
}

/// Whether the elements that each fit beside the pinned ones exceed the byte budget together.
fn bytes_bind(instance: &Instance) -> bool {
    let is_pinned = |element: &usize| instance.pinned.contains(element);
    let sizes = || instance.sizes.iter().copied().enumerate();
    let pinned: u64 = sizes().filter(|(element, _)| is_pinned(element)).map(|(_, size)| size).sum();
    let room = instance.bytes.saturating_sub(pinned);
    let free = sizes().filter(|(element, size)| !is_pinned(element) && *size <= room);
    free.map(|(_, size)| size).sum::<u64>() > room
}

/// `Greedy+Max` as the paper states it, evaluating everything in every round, for the bytes of an instance and
/// at most `count` elements, of which each is priced at a share of the bytes where the count binds.
fn greedy_plus_max<O: Objective>(instance: &Instance, count: usize, objective: &O) -> f64 {
    let mut state = O::State::default();
    objective.clear(&mut state);
    let (mut value, mut bytes, mut slots) = (0.0, instance.bytes, count);
    let mut rest: Vec<usize> = (0..instance.weights.len()).collect();
    for &element in &instance.pinned {
        if let Some(position) = rest.iter().position(|&other| other == element) {
            rest.remove(position);
            value += objective.gain(&state, element);
            objective.add(&mut state, element);
            bytes -= instance.sizes[element];
            slots -= 1;
        }
    }
    let float = |number: u64| f64::from(u32::try_from(number).unwrap());
    rest.retain(|&element| slots > 0 && instance.sizes[element] <= bytes);
    let slot_price = if rest.len() > slots {
        float(bytes.max(1)) / float(slots.try_into().unwrap())
    } else {
        0.0
    };
    let mut best = value;
    loop {
        rest.retain(|&element| slots > 0 && instance.sizes[element] <= bytes);
        let gains: Vec<_> = rest
            .iter()
            .map(|&element| {
                let gain = objective.gain(&state, element);
                let density = gain / (float(instance.sizes[element]) + slot_price);
                // Nothing over nothing: what is free and worthless may come at any time.
                (if density.is_nan() { 0.0 } else { density }, gain, element)
            })
            .collect();
        for (_, gain, _) in &gains {
            best = best.max(value + gain);
        }
        // `max_by` returns the last maximum, so walk from the back to give ties to the lower index.
        let densest = gains.iter().rev().max_by(|left, right| left.0.total_cmp(&right.0));
        let Some(&(_, gain, element)) = densest else {
            return best;
        };
        value += gain;
        bytes -= instance.sizes[element];
        slots -= 1;
        objective.add(&mut state, element);
        rest.retain(|&other| other != element);
    }
}

#[test]
fn exact_search_says_when_it_is_asked_too_much() {
    let weights = [1.0; EXACT_CANDIDATES + 2];
    let objective = Modular::new(&weights).unwrap();
    let mut scratch = Scratch::default();
    let found = exact_search(&objective, &Constraint::new().pinned(&[3]), &mut scratch);
    assert_eq!(
        found.unwrap_err(),
        Error::TooManyCandidates { found: EXACT_CANDIDATES + 1, limit: EXACT_CANDIDATES }
    );
    let pinned = Constraint::new().pinned(&[3, 5, 3]);
    assert!(exact_search(&objective, &pinned, &mut scratch).is_ok());
}

/// Counts how often a gain is asked for.
struct Counted<'o, O>(&'o O, Cell<usize>);

impl<O: Objective> Objective for Counted<'_, O> {
    type State = O::State;

    fn element_count(&self) -> usize {
        self.0.element_count()
    }

    fn clear(&self, state: &mut O::State) {
        self.0.clear(state);
    }

    fn gain(&self, state: &O::State, element: usize) -> f64 {
        self.1.set(self.1.get() + 1);
        self.0.gain(state, element)
    }

    fn add(&self, state: &mut O::State, element: usize) {
        self.0.add(state, element);
    }
}

#[test]
fn exact_search_cuts_what_cannot_win() {
    let weights: Vec<f64> = (1..=14_u8).map(|rank| 100.0 + f64::from(rank * rank)).collect();
    let sizes: Vec<u64> = (1..=14).map(|rank| 100 + 3 * rank).collect();
    let modular = Modular::new(&weights).unwrap();
    let objective = Counted(&modular, Cell::new(0));
    let constraint = Constraint::new().within_bytes(&sizes, 800);
    exact_search(&objective, &constraint, &mut Scratch::default()).unwrap();
    assert!(objective.1.get() <= 30, "{} gains of up to 16,384", objective.1.get());
}

#[test]
fn density_alone_would_be_arbitrarily_bad() {
    // The dense element keeps out the large one; the best addition to the empty prefix brings it back.
    let (weights, sizes) = ([2.0, 1_000.0], [1, 1_000]);
    let objective = Modular::new(&weights).unwrap();
    let constraint = Constraint::new().within_bytes(&sizes, 1_000);
    let mut scratch = Scratch::default();
    let found = density_greedy(&objective, &constraint, &mut scratch).unwrap();
    assert_eq!(found.elements, [1]);
}

#[test]
fn the_best_addition_to_a_prefix_beats_both_greedies_and_both_extremes() {
    // By gain: 0 alone. By density: 1 and 2, and nothing fits beside them. Best single: 0. Best: 1 and 3.
    let weights = [10.0, 6.4, 4.5, 8.0];
    let sizes = [10, 4, 3, 6];
    let objective = Modular::new(&weights).unwrap();
    let constraint = Constraint::new().within_bytes(&sizes, 10);
    let mut scratch = Scratch::default();
    let found = density_greedy(&objective, &constraint, &mut scratch).unwrap();
    assert_eq!(found.elements, [1, 3]);
}

#[test]
fn a_slot_has_its_price_where_both_budgets_bind() {
    // By gain: the large 3 and two small ones. By bytes: three small ones. Best: three of middle size.
    let weights = [5.0, 5.0, 5.0, 31.0, 30.0, 30.0, 30.0];
    let sizes = [1, 1, 1, 90, 33, 33, 33];
    let objective = Modular::new(&weights).unwrap();
    let constraint = Constraint::new().at_most(3).within_bytes(&sizes, 100);
    let mut scratch = Scratch::default();
    let found = density_greedy(&objective, &constraint, &mut scratch).unwrap();
    assert_eq!(found.elements, [4, 5, 6]);
}

#[test]
fn ties_go_to_the_lower_index() {
    let weights = [1.0; 6];
    let objective = Modular::new(&weights).unwrap();
    let sizes = [1; 6];
    let mut scratch = Scratch::default();
    let count = Constraint::new().at_most(3).pinned(&[4]);
    assert_eq!(lazy_greedy(&objective, &count, &mut scratch).unwrap().elements, [0, 1, 4]);
    assert_eq!(plain_greedy(&objective, &count, &mut scratch).unwrap().elements, [0, 1, 4]);
    assert_eq!(exact_search(&objective, &count, &mut scratch).unwrap().elements, [0, 1, 4]);
    let bytes = Constraint::new().within_bytes(&sizes, 3).pinned(&[4]);
    assert_eq!(density_greedy(&objective, &bytes, &mut scratch).unwrap().elements, [0, 1, 4]);
}
