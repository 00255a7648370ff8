//! An input that makes no sense is a typed error that names the entry; no input causes a panic.

use proptest::prelude::*;
use ptx_eviction::{Curve, Entry, Error, Kept, Retainer, Size};

const NOT_WORTHS: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300];

fn entry(worth: f64) -> Entry {
    Entry { worth, bytes: 1, family: 0, pinned: false }
}

fn refusal(result: Result<Kept<'_>, Error>) -> String {
    result.map_or_else(|error| error.to_string(), |kept| format!("{kept:?}"))
}

#[test]
fn worths_are_finite_and_not_negative() {
    let mut retainer = Retainer::new(Curve::SquareRoot);
    for worth in NOT_WORTHS {
        let entries = [entry(1.0), entry(worth), entry(f64::NAN)];
        assert_eq!(
            refusal(retainer.retain(&entries, Size::UNBOUNDED)),
            format!("entry 1 is worth {worth}: a worth must be finite and not negative")
        );
        let pinned = [Entry { pinned: true, ..entry(worth) }];
        let refused = retainer.retain(&pinned, Size::default()).unwrap_err();
        assert!(matches!(refused, Error::Worth { entry: 0, .. }));
    }
}

#[test]
fn worths_that_add_up_to_infinity_are_refused() {
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let entries = [entry(f64::MAX), entry(f64::MAX)];
    assert_eq!(
        refusal(retainer.retain(&entries, Size::UNBOUNDED)),
        "the worths add up to more than an f64 can hold: use a larger unit"
    );
    for curve in [Curve::SquareRoot, Curve::Log1p, Curve::Saturating { at: f64::MAX }] {
        let mut retainer = Retainer::new(curve);
        let kept = retainer.retain(&entries[..1], Size::UNBOUNDED).unwrap();
        assert!(kept.value.is_finite());
    }
}

#[test]
fn a_value_that_rounds_up_stops_at_the_largest_float() {
    let gain = |worth: f64| worth.sqrt() * (worth / worth.sqrt());
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let mut rounded_up = 0;
    for share in 300_u16..700 {
        let first = f64::MAX / 1_000.0 * f64::from(share);
        let mut second = f64::MAX - first;
        if (first + second).is_infinite() {
            second = second.next_down();
        }
        let entries = [entry(first), Entry { family: 1, ..entry(second) }];
        let kept = retainer.retain(&entries, Size::UNBOUNDED).unwrap();
        assert!(kept.value.is_finite());
        rounded_up += usize::from((gain(first) + gain(second)).is_infinite());
    }
    assert!(rounded_up > 0, "none of these cases needs the stop");
}

#[test]
fn a_curve_flattens_at_a_finite_point() {
    for at in NOT_WORTHS {
        let mut retainer = Retainer::new(Curve::Saturating { at });
        assert_eq!(
            refusal(retainer.retain(&[entry(1.0)], Size::UNBOUNDED)),
            format!("the curve flattens at {at}: `at` must be finite and not negative")
        );
    }
}

#[test]
fn nothing_to_choose_from_is_no_error() {
    let mut retainer = Retainer::new(Curve::SquareRoot);
    for budget in [Size::default(), Size { entries: 3, bytes: 10 }, Size::UNBOUNDED] {
        let kept = retainer.retain(&[], budget).unwrap();
        assert_eq!((kept.entries, kept.size, kept.over_budget), (&[][..], Size::default(), false));
    }
}

/// Every float there is, with the awkward ones often.
fn any_float() -> impl Strategy<Value = f64> {
    let awkward =
        [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1e308, -1.0];
    prop_oneof![any::<f64>(), 0.0..100.0_f64, prop::sample::select(awkward.to_vec())]
}

/// Finite and not negative, and so that the sum of a column is nearly always finite too.
fn valid_float() -> impl Strategy<Value = f64> {
    any_float().prop_map(|float| if float.is_finite() { float.abs() / 100.0 } else { 1.0 })
}

fn any_curve() -> impl Strategy<Value = Curve> {
    prop_oneof![
        Just(Curve::SquareRoot),
        Just(Curve::Log1p),
        valid_float().prop_map(|at| Curve::Saturating { at }),
        any_float().prop_map(|at| Curve::Saturating { at }),
    ]
}

prop_compose! {
    /// Mostly valid, or nothing would get past the first check.
    fn any_entries()(
        worths in prop_oneof![
            8 => prop::collection::vec(valid_float(), 0..40),
            1 => prop::collection::vec(any_float(), 0..40),
        ],
        rest in prop::collection::vec(
            (
                prop_oneof![any::<u64>(), 0_u64..100, Just(u64::MAX)],
                prop_oneof![any::<u64>(), 0_u64..4],
                prop::bool::weighted(0.1),
            ),
            40,
        ),
    ) -> Vec<Entry> {
        let rows = worths.into_iter().zip(rest);
        rows.map(|(worth, (bytes, family, pinned))| Entry { worth, bytes, family, pinned }).collect()
    }
}

fn any_budget() -> impl Strategy<Value = Size> {
    let entries = prop_oneof![any::<u64>(), 0_u64..20, Just(u64::MAX)];
    let bytes = prop_oneof![any::<u64>(), 0_u64..200, Just(u64::MAX)];
    (entries, bytes).prop_map(|(entries, bytes)| Size { entries, bytes })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn no_input_makes_a_retainer_panic(
        entries in any_entries(),
        curve in any_curve(),
        budget in any_budget(),
    ) {
        let mut retainer = Retainer::new(curve);
        match retainer.retain(&entries, budget) {
            Ok(kept) => {
                prop_assert!(kept.over_budget || kept.size.fits(budget));
                prop_assert!(kept.value.is_finite() && kept.value >= 0.0);
                let pinned = (0..entries.len()).filter(|&position| entries[position].pinned);
                for position in pinned {
                    prop_assert!(kept.entries.contains(&position));
                }
            }
            Err(Error::Worth { entry, worth }) => {
                prop_assert_eq!(entries[entry].worth.to_bits(), worth.to_bits());
            }
            Err(Error::Overflow) => {
                prop_assert!(entries.iter().map(|entry| entry.worth).sum::<f64>().is_infinite());
            }
            Err(Error::Curve { .. }) => {
                let is_saturating = matches!(curve, Curve::Saturating { .. });
                prop_assert!(is_saturating);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    /// Nothing but memory is carried from one choice to the next, also after a refusal.
    #[test]
    fn a_used_retainer_chooses_as_a_new_one(
        runs in prop::collection::vec((any_entries(), any_budget()), 1..5),
        curve in any_curve(),
    ) {
        let mut used = Retainer::new(curve);
        for (entries, budget) in &runs {
            let mut new = Retainer::new(curve);
            match (used.retain(entries, *budget), new.retain(entries, *budget)) {
                (Err(refused), Err(expected)) => {
                    prop_assert_eq!(refused.to_string(), expected.to_string());
                }
                (kept, expected) => prop_assert_eq!(kept, expected),
            }
        }
    }
}
