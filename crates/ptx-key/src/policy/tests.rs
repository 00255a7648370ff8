use std::collections::BTreeSet;

use crate::{DispatchPolicy, Feature, FeatureFlags, NamedValue};

/// Keys cover the names: a changed name changes every key with that feature.
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
    let flags = FeatureFlags::of([Feature::F16, Feature::Bf16, Feature::F16]);
    assert_eq!(flags, FeatureFlags::of([Feature::Bf16, Feature::F16]));
    assert!(flags.contains(Feature::Bf16) && !flags.contains(Feature::TensorCores));
    let named = FeatureFlags { named: ["f16".to_owned()].into(), ..FeatureFlags::default() };
    assert!(!named.contains(Feature::F16), "a named feature is not a known one");
}

#[test]
fn values_of_different_types_differ() {
    assert_eq!(NamedValue::from(true), NamedValue::Bool(true));
    assert_eq!(NamedValue::from(1_u64), NamedValue::Unsigned(1));
    assert_eq!(NamedValue::from(1_i64), NamedValue::Signed(1));
    assert_eq!(NamedValue::from("1"), NamedValue::Text("1".to_owned()));
    assert_ne!(NamedValue::from(1_u64), NamedValue::from(1_i64));
}

#[test]
fn the_default_policy_demands_nothing() {
    let DispatchPolicy { ulp_budget, workgroup_override, named } = DispatchPolicy::default();
    assert!(ulp_budget.is_none() && workgroup_override.is_none() && named.is_empty());
}
