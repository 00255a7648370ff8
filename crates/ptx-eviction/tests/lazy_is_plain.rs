//! Lazy greedy against plain greedy where there are enough elements for stale bounds, overtaking and ties.

use proptest::prelude::*;
use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, Error, Objective, Scratch, lazy_greedy, plain_greedy,
};

#[derive(Debug, Clone)]
struct Column {
    weights: Vec<f64>,
    families: Vec<u32>,
    sizes: Vec<u64>,
    pinned: Vec<usize>,
}

prop_compose! {
    fn column()(n in 1_usize..400, distinct_weights in 1_u32..50)(
        // Tenths are not round in binary, so sums in different orders would differ.
        weights in prop::collection::vec((0..distinct_weights).prop_map(|tenths| f64::from(tenths) / 10.0), n),
        families in prop::collection::vec((0_u32..60).prop_map(move |family| family % u32::try_from(n).unwrap_or(1)), n),
        sizes in prop::collection::vec(0_u64..50, n),
        pinned in prop::collection::vec(0..n, 0..4),
    ) -> Column {
        Column { weights, families, sizes, pinned }
    }
}

fn agree<O: Objective>(objective: &O, constraint: &Constraint<'_>) -> Result<(), TestCaseError> {
    let (mut first, mut second) = (Scratch::default(), Scratch::default());
    let lazy = lazy_greedy(objective, constraint, &mut first);
    let plain = plain_greedy(objective, constraint, &mut second);
    match (lazy, plain) {
        (Ok(lazy), Ok(plain)) => {
            prop_assert_eq!(lazy.elements, plain.elements);
            prop_assert_eq!(lazy.value.to_bits(), plain.value.to_bits());
        }
        (lazy, plain) => {
            let refused = matches!(lazy, Err(Error::PinnedOverBudget { .. }));
            prop_assert!(refused, "{:?}", lazy);
            prop_assert_eq!(lazy, plain);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lazy_and_plain_choose_the_same_set(
        column in column(),
        curve in prop_oneof![
            Just(Curve::SquareRoot), Just(Curve::Log1p), Just(Curve::Saturating { at: 3.0 })
        ],
        count in 0_usize..80,
        most in 0_usize..5,
        bytes in 0_u64..2_000,
    ) {
        let objective = ConcaveOverGroups::new(&column.weights, &column.families, curve)?;
        let by_count = Constraint::new().at_most(count).pinned(&column.pinned);
        agree(&objective, &by_count)?;
        let by_family = Constraint::new().at_most_per_group(&column.families, most).pinned(&column.pinned);
        agree(&objective, &by_family)?;
        agree(&objective, &by_family.within_bytes(&column.sizes, bytes))?;
    }
}
