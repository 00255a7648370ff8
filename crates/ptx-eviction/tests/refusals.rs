//! Input that makes no sense is a typed error that names the element; no number makes a solver panic.

use proptest::prelude::*;
use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, Entry, Error, FacilityLocation, Modular, Objective,
    Retainer, Scratch, SieveStreaming, Size, WeightedSum, density_greedy, evaluate, exact_search,
    lazy_greedy, plain_greedy, stochastic_greedy,
};

/// An objective that returns whatever gain it was made with for element 1, and 1 for the others.
struct Returns(f64);

impl Objective for Returns {
    type State = ();

    fn element_count(&self) -> usize {
        3
    }

    fn clear(&self, (): &mut ()) {}

    fn gain(&self, (): &(), element: usize) -> f64 {
        if element == 1 { self.0 } else { 1.0 }
    }

    fn add(&self, (): &mut (), _element: usize) {}
}

const NOT_WEIGHTS: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300];

#[test]
fn weights_are_finite_and_not_negative() {
    for weight in NOT_WEIGHTS {
        let weights = [1.0, weight];
        let refused = |error| matches!(error, Error::Weight { element: 1, .. });
        assert!(refused(Modular::new(&weights).unwrap_err()));
        let concave = ConcaveOverGroups::new(&weights, &[0, 0], Curve::SquareRoot);
        assert!(refused(concave.unwrap_err()));

        let concave = ConcaveOverGroups::new(&[1.0], &[0], Curve::SquareRoot).unwrap();
        let scales = [weight];
        let refused = concave.with_scales(&scales).unwrap_err();
        assert!(matches!(refused, Error::Scale { group: 0, .. }));
        let curve = Curve::Saturating { at: weight };
        let saturating = ConcaveOverGroups::new(&[1.0], &[0], curve);
        assert!(matches!(saturating.unwrap_err(), Error::Parameter { name: "at", .. }));
        let one = Modular::new(&[1.0]).unwrap();
        let sum = WeightedSum::new((1.0, one), (weight, one));
        assert!(matches!(sum.unwrap_err(), Error::Parameter { .. }));
    }
    let overflow = Modular::new(&[f64::MAX, f64::MAX]).unwrap_err();
    assert_eq!(overflow, Error::Overflow { what: "the sum of the weights" });
}

#[test]
fn every_solver_refuses_a_gain_that_is_none() {
    let mut scratch = Scratch::default();
    for gain in NOT_WEIGHTS {
        let objective = Returns(gain);
        let refused = |error| matches!(error, Error::Gain { element: 1, .. });
        for constraint in [Constraint::new(), Constraint::new().at_most(3).pinned(&[1])] {
            assert!(refused(lazy_greedy(&objective, &constraint, &mut scratch).unwrap_err()));
            assert!(refused(plain_greedy(&objective, &constraint, &mut scratch).unwrap_err()));
            assert!(refused(density_greedy(&objective, &constraint, &mut scratch).unwrap_err()));
            assert!(refused(exact_search(&objective, &constraint, &mut scratch).unwrap_err()));
            let stochastic = stochastic_greedy(&objective, &constraint, 0.1, 0, &mut scratch);
            assert!(refused(stochastic.unwrap_err()));
        }
        let mut sieve = SieveStreaming::new(&objective, 2, 0.1).unwrap();
        sieve.offer(0).unwrap();
        assert!(refused(sieve.offer(1).unwrap_err()));
        sieve.offer(2).unwrap();
        assert_eq!(sieve.selection().unwrap().elements, [0, 2]);
    }
    let overflow = Returns(f64::MAX);
    let doubled = WeightedSum::new((1.0, overflow), (1.0, Returns(f64::MAX))).unwrap();
    let mut scratch = Scratch::default();
    let refused = lazy_greedy(&doubled, &Constraint::new(), &mut scratch).unwrap_err();
    assert!(matches!(refused, Error::Gain { element: 1, .. }));
    let negative_similarity =
        FacilityLocation::new(
            2,
            2,
            |element, client| {
                if (element, client) == (1, 1) { -0.5 } else { 0.25 }
            },
        );
    let mut scratch = Scratch::default();
    let refused = lazy_greedy(&negative_similarity, &Constraint::new(), &mut scratch).unwrap_err();
    assert!(matches!(refused, Error::Gain { element: 1, .. }));
}

#[test]
fn a_value_that_overflows_is_said_so() {
    struct Huge;
    impl Objective for Huge {
        type State = ();
        fn element_count(&self) -> usize {
            20
        }
        fn clear(&self, (): &mut ()) {}
        fn gain(&self, (): &(), _element: usize) -> f64 {
            f64::MAX
        }
        fn add(&self, (): &mut (), _element: usize) {}
    }
    let overflow = Error::Overflow { what: "the value of the set" };
    let (count, sizes) = (Constraint::new().at_most(2), [1; 20]);
    let bytes = Constraint::new().within_bytes(&sizes, 2);
    let mut scratch = Scratch::default();
    assert_eq!(lazy_greedy(&Huge, &count, &mut scratch).unwrap_err(), overflow);
    assert_eq!(density_greedy(&Huge, &bytes, &mut scratch).unwrap_err(), overflow);
    assert!(lazy_greedy(&Huge, &count.at_most(1), &mut scratch).is_ok());
}

#[test]
fn columns_describe_the_same_elements() {
    let objective = Modular::new(&[1.0, 2.0]).unwrap();
    let mut scratch = Scratch::default();
    let mut refuse = |constraint: Constraint<'_>| {
        lazy_greedy(&objective, &constraint, &mut scratch).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(Constraint::new().within_bytes(&[1], 5)),
        "sizes has 1 entries for 2 elements"
    );
    assert_eq!(
        refuse(Constraint::new().at_most_per_group(&[0, 1, 1], 5)),
        "groups of the constraint has 3 entries for 2 elements"
    );
    assert_eq!(
        refuse(Constraint::new().at_most_per_group(&[0, 2], 5)),
        "element 1 is in group 2, but group ids must be below 2"
    );
    assert_eq!(
        refuse(Constraint::new().pinned(&[0, 2])),
        "element 2 is outside the ground set of 2 elements"
    );
    let groups = ConcaveOverGroups::new(&[1.0, 2.0], &[0], Curve::SquareRoot);
    assert!(matches!(groups.unwrap_err(), Error::Length { what: "groups", .. }));
    let far = ConcaveOverGroups::new(&[1.0], &[u32::MAX], Curve::SquareRoot);
    assert!(matches!(far.unwrap_err(), Error::Group { group: u32::MAX, .. }));
    let scales = ConcaveOverGroups::new(&[1.0, 2.0], &[0, 1], Curve::SquareRoot);
    let scales = scales.unwrap().with_scales(&[1.0]);
    assert!(matches!(scales.unwrap_err(), Error::Length { what: "scales", .. }));
    let sum = WeightedSum::new((1.0, objective), (1.0, Modular::new(&[1.0]).unwrap()));
    assert!(matches!(sum.unwrap_err(), Error::Length { .. }));
    let outside = evaluate(&objective, &[0, 7], &mut ());
    assert_eq!(outside.unwrap_err(), Error::Element { element: 7, count: 2 });
    let mut sieve = SieveStreaming::new(&objective, 1, 0.1).unwrap();
    assert_eq!(sieve.offer(2).unwrap_err(), Error::Element { element: 2, count: 2 });
}

#[test]
fn pinned_elements_that_break_a_budget_are_named_with_it() {
    let objective = Modular::new(&[1.0, 2.0, 3.0]).unwrap();
    let mut scratch = Scratch::default();
    let pinned = Constraint::new().pinned(&[0, 2, 0]);
    let mut refuse = |constraint: Constraint<'_>| {
        density_greedy(&objective, &constraint, &mut scratch).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(pinned.at_most(1)),
        "pinned elements need 2 elements, the budget is 1: unpin some or raise it"
    );
    assert_eq!(
        refuse(pinned.at_most(2).within_bytes(&[5, 0, 6], 10)),
        "pinned elements need 11 bytes, the budget is 10: unpin some or raise it"
    );
    assert_eq!(
        refuse(pinned.within_bytes(&[u64::MAX, 0, 6], u64::MAX - 1)),
        format!(
            "pinned elements need {} bytes, the budget is {}: unpin some or raise it",
            u64::MAX,
            u64::MAX - 1
        )
    );
    assert_eq!(
        refuse(pinned.at_most_per_group(&[1, 0, 1], 1)),
        "pinned elements need 2 elements in one group, the budget is 1: unpin some or raise it"
    );
    // The budget that is broken is told, not one that holds exactly.
    assert_eq!(
        refuse(pinned.at_most(2).within_bytes(&[5, 0, 6], 11).at_most_per_group(&[1, 0, 1], 1)),
        "pinned elements need 2 elements in one group, the budget is 1: unpin some or raise it"
    );
    let exactly = pinned.at_most(2).within_bytes(&[5, 0, 6], 11);
    assert!(density_greedy(&objective, &exactly, &mut scratch).is_ok());
}

#[test]
fn solvers_say_what_they_do_not_take() {
    let objective = Modular::new(&[1.0]).unwrap();
    let mut scratch = Scratch::default();
    let mut stochastic = |constraint: Constraint<'_>, epsilon| {
        stochastic_greedy(&objective, &constraint, epsilon, 0, &mut scratch).map(|kept| kept.value)
    };
    assert_eq!(
        stochastic(Constraint::new().within_bytes(&[1], 1), 0.1).unwrap_err().to_string(),
        "stochastic_greedy takes no byte budget: use density_greedy"
    );
    assert_eq!(
        stochastic(Constraint::new().at_most_per_group(&[0], 1), 0.1).unwrap_err().to_string(),
        "stochastic_greedy takes no cap on groups: use lazy_greedy"
    );
    for epsilon in [f64::NAN, 0.0, 1.0, -0.5, f64::INFINITY] {
        let refused = stochastic(Constraint::new(), epsilon);
        assert!(matches!(refused, Err(Error::Parameter { name: "epsilon", .. })));
        let refused = SieveStreaming::new(&objective, 1, epsilon);
        assert!(matches!(refused, Err(Error::Parameter { name: "epsilon", .. })));
    }
    assert_eq!(stochastic(Constraint::new(), 0.5), Ok(1.0));
}

#[test]
fn nothing_to_choose_from_is_no_error() {
    let objective = Modular::new(&[]).unwrap();
    let mut scratch = Scratch::default();
    let constraint = Constraint::new().at_most(3).within_bytes(&[], 10);
    for kept in [
        lazy_greedy(&objective, &constraint, &mut scratch).unwrap().elements.len(),
        density_greedy(&objective, &constraint, &mut scratch).unwrap().elements.len(),
        exact_search(&objective, &constraint, &mut scratch).unwrap().elements.len(),
        SieveStreaming::new(&objective, 0, 0.1).unwrap().selection().unwrap().elements.len(),
    ] {
        assert_eq!(kept, 0);
    }
}

/// Every float there is, with the awkward ones often.
fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..100.0_f64,
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::MIN_POSITIVE,
            f64::MAX,
            5e-324,
            1e308,
            -1.0,
        ]),
    ]
}

/// Finite and not negative, and few enough of the largest that a column's sum is finite too.
fn valid_float() -> impl Strategy<Value = f64> {
    any_float().prop_map(|float| if float.is_finite() { float.abs() / 100.0 } else { 1.0 })
}

proptest! {
    #[test]
    fn no_input_makes_a_solver_panic(
        // Mostly valid columns, or nothing would get past the first check.
        weights in prop_oneof![
            8 => prop::collection::vec(valid_float(), 0..30),
            1 => prop::collection::vec(any_float(), 0..30),
        ],
        groups in prop_oneof![
            8 => prop::collection::vec(0_u32..4, 30),
            1 => prop::collection::vec(any::<u32>(), 30),
        ],
        scales in prop_oneof![
            8 => prop::collection::vec(valid_float(), 30),
            1 => prop::collection::vec(any_float(), 30),
        ],
        sizes in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..100, Just(u64::MAX)], 30),
        length in prop_oneof![1 => 0_usize..30, 20 => Just(usize::MAX)],
        curve in prop_oneof![
            Just(Curve::SquareRoot), Just(Curve::Log1p),
            valid_float().prop_map(|at| Curve::Saturating { at }), any_float().prop_map(|at| Curve::Saturating { at })
        ],
        count in prop_oneof![any::<usize>(), 0_usize..20],
        budget in prop_oneof![any::<u64>(), 0_u64..200, Just(u64::MAX)],
        most in prop_oneof![any::<usize>(), 0_usize..4],
        pinned in prop::collection::vec(prop_oneof![19 => 0_usize..5, 1 => any::<usize>()], 0..2),
        epsilon in prop_oneof![0.01..0.5_f64, any_float()],
        seed: u64,
    ) {
        let n = weights.len();
        let sizes = &sizes[..n.min(length)];
        let groups = &groups[..n];
        let Ok(concave) = ConcaveOverGroups::new(&weights, groups, curve) else { return Ok(()) };
        let Ok(objective) = concave.with_scales(&scales) else { return Ok(()) };
        let mut scratch = Scratch::default();
        let constraint = Constraint::new()
            .at_most(count)
            .within_bytes(sizes, budget)
            .at_most_per_group(groups, most)
            .pinned(&pinned);
        for kept in [
            lazy_greedy(&objective, &constraint, &mut scratch).map(|kept| kept.elements.to_vec()),
            plain_greedy(&objective, &constraint, &mut scratch).map(|kept| kept.elements.to_vec()),
            density_greedy(&objective, &constraint, &mut scratch).map(|kept| kept.elements.to_vec()),
            exact_search(&objective, &constraint, &mut scratch).map(|kept| kept.elements.to_vec()),
        ].into_iter().flatten() {
            prop_assert!(kept.len() <= count);
            let bytes: u128 = kept.iter().map(|&element| u128::from(sizes[element])).sum();
            prop_assert!(bytes <= u128::from(budget));
        }
        let by_count = Constraint::new().at_most(count).pinned(&pinned);
        if let Ok(kept) = stochastic_greedy(&objective, &by_count, epsilon, seed, &mut scratch) {
            prop_assert!(kept.elements.len() <= count);
        }
        if let Ok(mut sieve) = SieveStreaming::new(&objective, count, epsilon) {
            for element in 0..n {
                let _ = sieve.offer(element);
            }
            if let Ok(kept) = sieve.selection() {
                prop_assert!(kept.elements.len() <= count);
            }
        }
    }

    #[test]
    fn no_entry_makes_a_retainer_panic(
        entries in prop::collection::vec(
            (prop_oneof![1 => any_float(), 60 => valid_float()], any::<u64>(), any::<u64>(), prop::bool::weighted(0.1))
                .prop_map(|(worth, bytes, family, pinned)| Entry { worth, bytes, family, pinned }),
            0..30,
        ),
        budgets in (any::<u64>(), any::<u64>()).prop_map(|(entries, bytes)| Size { entries, bytes }),
    ) {
        let mut retainer = Retainer::new(Curve::Log1p);
        if let Ok(kept) = retainer.retain(&entries, budgets) {
            prop_assert!(kept.over_budget || kept.size.fits(budgets));
        }
        // A refusal leaves it usable.
        let one = [Entry { worth: 1.0, bytes: 1, family: 0, pinned: false }];
        let kept = retainer.retain(&one, Size { entries: 1, bytes: 1 })?;
        prop_assert_eq!(kept.entries, [0]);
    }
}
