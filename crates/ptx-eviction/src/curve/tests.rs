use proptest::prelude::*;

use super::Curve;

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * right.abs()
}

/// The value of entries of these worths in one family of this scale.
fn value(curve: Curve, worths: &[f64], scale: f64) -> f64 {
    let (value, _) = worths.iter().fold((0.0, 0.0), |(value, kept), &worth| {
        (value + curve.gain(kept, worth, scale), kept + worth)
    });
    value
}

#[test]
fn each_curve_bends_the_value_of_a_family() {
    assert!(is_near(value(Curve::SquareRoot, &[9.0, 7.0], 1.0), 4.0));
    assert!(is_near(value(Curve::Log1p, &[9.0, 7.0], 1.0), 17.0_f64.ln()));
    let saturating = Curve::Saturating { at: 10.0 };
    assert!(is_near(value(saturating, &[9.0, 7.0], 1.0), 10.0));
    assert!(is_near(value(saturating, &[4.0], 1.0), 4.0));
}

#[test]
fn an_entry_without_variants_keeps_its_proportion() {
    for worth in [1e-9, 0.1, 4.0, 9.0, 1e9] {
        assert!(is_near(value(Curve::SquareRoot, &[worth], worth), worth));
        assert!(is_near(value(Curve::Log1p, &[worth], worth), worth * 2.0_f64.ln()));
        assert!(is_near(value(Curve::Saturating { at: 0.5 }, &[worth], worth), worth / 2.0));
    }
    let variants = value(Curve::SquareRoot, &[9.0, 9.0], 9.0);
    assert!(is_near(variants, 9.0 * 2.0_f64.sqrt()));
}

#[test]
fn a_family_of_no_worth_has_no_value() {
    assert!(value(Curve::SquareRoot, &[0.0, 0.0], 0.0) == 0.0);
    assert!(Curve::SquareRoot.gain(0.0, 4.0, 0.0) == 0.0);
}

#[test]
fn gains_are_finite_and_never_negative_zero() {
    let extremes = [0.0, -0.0, 5e-324, f64::MIN_POSITIVE, 1.0, 1e300, f64::MAX];
    let curves = extremes.map(|at| Curve::Saturating { at });
    for curve in [Curve::SquareRoot, Curve::Log1p].into_iter().chain(curves) {
        for worth in extremes {
            for scale in extremes.into_iter().filter(|&scale| scale >= worth) {
                for kept in extremes.into_iter().chain([f64::INFINITY]) {
                    let gain = curve.gain(kept, worth, scale);
                    assert!(gain.is_finite(), "{curve:?} of {worth} beside {kept}: {gain}");
                    assert!(gain.is_sign_positive(), "{curve:?} of {worth} beside {kept}: {gain}");
                }
            }
        }
    }
}

fn any_curve() -> impl Strategy<Value = Curve> {
    prop_oneof![
        Just(Curve::SquareRoot),
        Just(Curve::Log1p),
        (0.0..1e3_f64).prop_map(|at| Curve::Saturating { at }),
    ]
}

fn worths() -> impl Strategy<Value = Vec<f64>> {
    let worth = prop_oneof![0.0..1e3_f64, 0.0..1e-6_f64, Just(0.1), Just(1e12)];
    prop::collection::vec(worth, 2..40)
}

proptest! {
    /// Lazy evaluation equals plain evaluation only because this holds to the last bit.
    #[test]
    fn gains_never_grow(
        worths in worths(),
        scale in prop_oneof![Just(1.0), 0.0..1e6_f64],
        curve in any_curve(),
    ) {
        let mut kept = 0.0;
        let mut before = curve.gain(kept, worths[0], scale);
        for worth in &worths[1..] {
            kept += worth;
            let after = curve.gain(kept, worths[0], scale);
            prop_assert!(after <= before, "{after} after {before}");
            before = after;
        }
    }

    #[test]
    fn the_order_of_adding_does_not_matter(worths in worths(), curve in any_curve()) {
        let scale = worths.iter().copied().fold(0.0, f64::max);
        let reversed: Vec<f64> = worths.iter().rev().copied().collect();
        let (forwards, backwards) = (value(curve, &worths, scale), value(curve, &reversed, scale));
        prop_assert!((forwards - backwards).abs() <= 1e-9 * forwards, "{forwards}, {backwards}");
    }
}
