use super::{ElementSet, Sample, Violation, verify_submodular};
use crate::objective::{
    ConcaveOverGroups, Curve, FacilityLocation, Modular, Objective, WeightedSum,
};

/// An objective given by the value of a set and nothing cleverer: the state is the list of elements, in the
/// order in which they were added.
struct ByValue<F> {
    count: usize,
    value: F,
}

impl<F: Fn(&[usize]) -> f64> Objective for ByValue<F> {
    type State = Vec<usize>;

    fn element_count(&self) -> usize {
        self.count
    }

    fn clear(&self, state: &mut Vec<usize>) {
        state.clear();
    }

    fn gain(&self, state: &Vec<usize>, element: usize) -> f64 {
        let mut with = state.clone();
        with.push(element);
        (self.value)(&with) - (self.value)(state)
    }

    fn add(&self, state: &mut Vec<usize>, element: usize) {
        state.push(element);
    }
}

fn size(set: &[usize]) -> f64 {
    f64::from(u32::try_from(set.len()).unwrap())
}

#[test]
fn two_elements_that_help_each_other_are_found_and_shown_alone() {
    let bonus = |set: &[usize]| if set.contains(&3) && set.contains(&5) { 1.0 } else { 0.0 };
    let objective = ByValue { count: 8, value: |set: &[usize]| size(set) + bonus(set) };
    let violation = verify_submodular(&objective, Sample::default()).unwrap_err();
    let message = violation.to_string();
    assert!(
        [
            "returns do not diminish: adding 5 to {} gains 1, but to {3} it gains 2",
            "returns do not diminish: adding 3 to {} gains 1, but to {5} it gains 2",
        ]
        .contains(&message.as_str()),
        "{message}"
    );
}

#[test]
fn a_loss_is_found_with_the_set_that_suffers_it() {
    let objective =
        ByValue { count: 6, value: |set: &[usize]| size(set).min(2.0 - size(set)) + 1.0 };
    let violation = verify_submodular(&objective, Sample::default()).unwrap_err();
    let Violation::NotMonotone { set, gain, .. } = violation else { panic!("{violation}") };
    assert_eq!(set.0.len(), 1);
    assert!(gain < 0.0);
}

#[test]
fn a_gain_that_is_no_number_is_found() {
    let objective =
        ByValue { count: 3, value: |set: &[usize]| if set.is_empty() { 0.0 } else { f64::NAN } };
    let violation = verify_submodular(&objective, Sample::default()).unwrap_err();
    assert!(matches!(violation, Violation::NotMonotone { .. }));
}

#[test]
fn an_order_that_matters_is_found() {
    // Whoever comes first counts double.
    let value = |set: &[usize]| {
        let first = set.first().map_or(0, |&first| u32::try_from(first).unwrap());
        100.0 * size(set).sqrt() + f64::from(first)
    };
    let violation = verify_submodular(&ByValue { count: 5, value }, Sample::default()).unwrap_err();
    let Violation::OrderMatters { set, .. } = &violation else { panic!("{violation}") };
    assert_eq!(set.0.len(), 2, "{violation}");
}

/// Counts elements of which only the first is worth something; `clear` forgets to forget.
struct NeverCleared;

impl Objective for NeverCleared {
    type State = bool;

    fn element_count(&self) -> usize {
        4
    }

    fn clear(&self, _has_any: &mut bool) {}

    fn gain(&self, has_any: &bool, _element: usize) -> f64 {
        if *has_any { 0.0 } else { 1.0 }
    }

    fn add(&self, has_any: &mut bool, _element: usize) {
        *has_any = true;
    }
}

#[test]
fn a_clear_that_leaves_something_behind_is_found() {
    let violation = verify_submodular(&NeverCleared, Sample::default()).unwrap_err();
    assert!(matches!(violation, Violation::NotCleared { .. }), "{violation}");
}

#[test]
fn the_seed_decides_what_is_found() {
    let objective = ByValue { count: 9, value: |set: &[usize]| size(set).powi(2) };
    let with_seed = |seed| verify_submodular(&objective, Sample { seed, ..Sample::default() });
    assert_eq!(with_seed(7), with_seed(7));
    assert!((0..20).any(|seed| with_seed(seed) != with_seed(7)));
}

#[test]
fn the_largest_set_bounds_what_is_drawn() {
    // Fine up to five elements, not beyond.
    let value = |set: &[usize]| if set.len() <= 5 { size(set) } else { 10.0 * size(set) };
    let objective = ByValue { count: 12, value };
    let upto =
        |largest_set| verify_submodular(&objective, Sample { largest_set, ..Sample::default() });
    assert_eq!(upto(4), Ok(()));
    assert!(upto(6).is_err());
}

#[test]
fn objectives_of_this_crate_pass() {
    let weights = [0.0, 0.1, 3.0, 1e-9, 1e9, 7.0, 2.0, 2.0, 5.5];
    let groups = [0, 0, 0, 1, 1, 2, 2, 2, 2];
    let sample = Sample { trials: 500, ..Sample::default() };
    verify_submodular(&Modular::new(&weights).unwrap(), sample).unwrap();
    for curve in [Curve::SquareRoot, Curve::Log1p, Curve::Saturating { at: 4.0 }] {
        let concave = ConcaveOverGroups::new(&weights, &groups, curve).unwrap();
        verify_submodular(&concave, sample).unwrap();
        let scaled = concave.with_scales(&[3.0, 1e9, 0.0]).unwrap();
        verify_submodular(&scaled, sample).unwrap();
        let facility = FacilityLocation::new(9, 9, |e, c| weights[e] * weights[c]);
        verify_submodular(&facility, sample).unwrap();
        verify_submodular(&WeightedSum::new((0.5, scaled), (2.0, facility)).unwrap(), sample)
            .unwrap();
    }
    verify_submodular(&Modular::new(&[]).unwrap(), sample).unwrap();
    verify_submodular(&Modular::new(&[1.0]).unwrap(), sample).unwrap();
}

#[test]
fn sets_print_as_sets() {
    assert_eq!(ElementSet(vec![0, 2, 5]).to_string(), "{0, 2, 5}");
    assert_eq!(ElementSet(vec![]).to_string(), "{}");
}
