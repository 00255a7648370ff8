use std::collections::BTreeSet;

use crate::{DispatchPolicy, Feature, FeatureFlags, NamedValue};

/// The names stand in keys: one that changes changes every key that holds it.
#[test]
fn the_names_of_features_never_change() {
    let names = Feature::ALL.map(Feature::name);
    let expected =
        ["subgroup-ops", "f16", "bf16", "tensor-cores", "async-compute", "persistent-thread"];
    assert_eq!(names, expected);
    assert_eq!(Feature::ALL.into_iter().collect::<BTreeSet<_>>().len(), names.len());
}

#[test]
fn flags_are_a_set() {
    let flags = FeatureFlags::of([Feature::F16, Feature::Bf16, Feature::F16]).with_named("own");
    let other = FeatureFlags::new()
        .with_named("own")
        .with(Feature::Bf16)
        .with(Feature::F16)
        .with_named("own");
    assert_eq!(flags, other);
    assert!(flags.contains(Feature::Bf16) && !flags.contains(Feature::TensorCores));
    assert!(flags.contains_named("own") && !flags.contains_named("f16"));
    assert!(!FeatureFlags::new().with_named("f16").contains(Feature::F16));
}

#[test]
fn values_keep_their_kind() {
    assert_eq!(NamedValue::from(true), NamedValue::Bool(true));
    assert_eq!(NamedValue::from(1_u64), NamedValue::Unsigned(1));
    assert_eq!(NamedValue::from(1_i64), NamedValue::Signed(1));
    assert_eq!(NamedValue::from("1"), NamedValue::Text("1".to_owned()));
    assert_ne!(NamedValue::from(1_u64), NamedValue::from(1_i64));
}

#[test]
fn a_policy_demands_nothing_until_told() {
    let DispatchPolicy { ulp_budget, workgroup_override, named } = DispatchPolicy::default();
    assert!(ulp_budget.is_none() && workgroup_override.is_none() && named.is_empty());
}
