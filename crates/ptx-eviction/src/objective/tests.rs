use proptest::prelude::*;

use super::{
    ConcaveOverGroups, Curve, FacilityLocation, GroupMass, Modular, Objective, WeightedSum,
    evaluate,
};
use crate::Error;

fn value<O: Objective>(objective: &O, elements: &[usize]) -> f64 {
    evaluate(objective, elements, &mut O::State::default()).unwrap()
}

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * right.abs()
}

#[test]
fn modular_adds_up() {
    let objective = Modular::new(&[1.0, 2.0, 4.0]).unwrap();
    assert!(is_near(value(&objective, &[0, 2]), 5.0));
    assert!(is_near(value(&objective, &[]), 0.0));
}

#[test]
fn each_curve_bends_each_group_on_its_own() {
    let (weights, groups) = ([9.0, 7.0, 4.0], [0, 0, 1]);
    let value_under = |curve| {
        let objective = ConcaveOverGroups::new(&weights, &groups, curve).unwrap();
        value(&objective, &[0, 1, 2])
    };
    assert!(is_near(value_under(Curve::SquareRoot), 4.0 + 2.0));
    assert!(is_near(value_under(Curve::Log1p), 17.0_f64.ln() + 5.0_f64.ln()));
    assert!(is_near(value_under(Curve::Saturating { at: 10.0 }), 10.0 + 4.0));
}

#[test]
fn a_group_scaled_to_its_largest_weight_keeps_proportions_between_groups() {
    let (weights, groups) = ([9.0, 9.0, 4.0], [0, 0, 1]);
    let objective = ConcaveOverGroups::new(&weights, &groups, Curve::SquareRoot).unwrap();
    let objective = objective.with_scales(&[9.0, 4.0]).unwrap();
    assert!(is_near(value(&objective, &[0]), 9.0));
    assert!(is_near(value(&objective, &[2]), 4.0));
    assert!(is_near(value(&objective, &[0, 1]), 9.0 * 2.0_f64.sqrt()));
    let objective = objective.with_scales(&[9.0, 0.0]).unwrap();
    assert!(is_near(value(&objective, &[2]), 0.0));
}

#[test]
fn facility_location_serves_each_client_best() {
    let similarity = [[3.0, 0.0], [2.0, 2.0], [0.0, 4.0]];
    let objective = FacilityLocation::new(3, 2, |element, client| similarity[element][client]);
    assert!(is_near(value(&objective, &[0]), 3.0));
    assert!(is_near(value(&objective, &[1, 0]), 3.0 + 2.0));
    assert!(is_near(value(&objective, &[0, 1, 2]), 3.0 + 4.0));
}

#[test]
fn a_weighted_sum_weighs() {
    let modular = Modular::new(&[1.0, 2.0]).unwrap();
    let grouped = ConcaveOverGroups::new(&[4.0, 5.0], &[0, 0], Curve::SquareRoot).unwrap();
    let objective = WeightedSum::new((10.0, modular), (2.0, grouped)).unwrap();
    assert!(is_near(value(&objective, &[0, 1]), 10.0 * 3.0 + 2.0 * 3.0));
    assert!(!objective.is_modular());
    assert!(WeightedSum::new((1.0, modular), (0.5, modular)).unwrap().is_modular());
}

#[test]
fn states_are_copied_with_what_they_hold() {
    let modular = Modular::new(&[1.0, 2.0]).unwrap();
    let grouped = ConcaveOverGroups::new(&[4.0, 5.0], &[0, 0], Curve::SquareRoot).unwrap();
    let near = FacilityLocation::new(2, 1, |element, _client| [1.0, 3.0][element]);
    let sum = WeightedSum::new((1.0, grouped), (1.0, near)).unwrap();
    let objective = WeightedSum::new((1.0, modular), (1.0, sum)).unwrap();
    let (mut source, mut target) = Default::default();
    objective.clear(&mut source);
    objective.clear(&mut target);
    let before = objective.gain(&target, 1);
    objective.add(&mut source, 0);
    target.clone_from(&source);
    let after = objective.gain(&source, 1);
    assert!(after < before);
    assert_eq!(objective.gain(&target, 1).to_bits(), after.to_bits());
    assert_eq!(objective.gain(&source.clone(), 1).to_bits(), after.to_bits());
}

#[test]
fn evaluation_names_the_element_that_is_not_there() {
    let objective = Modular::new(&[1.0]).unwrap();
    let outside = evaluate(&objective, &[1], &mut ());
    assert_eq!(outside, Err(Error::Element { element: 1, count: 1 }));
}

proptest! {
    /// Lazy evaluation equals plain evaluation only because this holds to the last bit.
    #[test]
    fn computed_gains_never_grow(
        weights in prop::collection::vec(prop_oneof![0.0..1e3_f64, 0.0..1e-6_f64, Just(0.1), Just(1e12)], 2..40),
        scale in prop_oneof![Just(1.0), 0.0..1e6_f64],
        curve in prop_oneof![
            Just(Curve::SquareRoot), Just(Curve::Log1p), (0.0..1e3_f64).prop_map(|at| Curve::Saturating { at })
        ],
    ) {
        let groups = vec![0; weights.len()];
        let scales = [scale];
        let objective = ConcaveOverGroups::new(&weights, &groups, curve)?.with_scales(&scales)?;
        let mut state = GroupMass::default();
        objective.clear(&mut state);
        let mut before = objective.gain(&state, 0);
        for element in 1..weights.len() {
            objective.add(&mut state, element);
            let after = objective.gain(&state, 0);
            prop_assert!(after <= before, "{after} after {before}");
            before = after;
        }
    }
}
