//! Does every reference kernel compute the right values under every configuration that changes it?

use ptx_ir::reference::{self, Reference};
use ptx_key::{Configuration, DispatchPolicy, Feature};

use crate::machine::Order;
use crate::{Launch, configuration};

fn check(reference: &Reference, configuration: &Configuration) {
    let before: Vec<_> =
        reference.bindings.iter().map(|it| (it.length, it.before.clone())).collect();
    for (order, persistent) in [(Order::Forward, 3), (Order::Backward, 1)] {
        let launch = Launch {
            kernel: &reference.kernel,
            configuration,
            work: reference.work,
            persistent,
            order,
        };
        let after = launch.run(&before);
        for (binding, bytes) in reference.bindings.iter().zip(&after) {
            let mismatch = binding.mismatch(bytes);
            assert_eq!(mismatch, None, "{}, {order:?}, {configuration:?}", reference.kernel.name);
            let changed = *bytes != binding.before;
            assert_eq!(changed, binding.after.is_some(), "slot {}", binding.slot);
        }
    }
}

fn named(name: &str) -> Reference {
    let mut all = reference::all().unwrap().into_iter();
    all.find(|reference| reference.kernel.name == name).unwrap()
}

/// Returns every set of the features that change code, with halves.
fn feature_sets() -> Vec<Vec<Feature>> {
    let optional = [Feature::SubgroupOps, Feature::AsyncCompute, Feature::PersistentThread];
    (0..8)
        .map(|set| {
            let chosen = (0..3).filter(|bit| set >> bit & 1 == 1).map(|bit| optional[bit]);
            chosen.chain([Feature::F16]).collect()
        })
        .collect()
}

#[test]
fn under_every_set_of_features() {
    for reference in reference::all().unwrap() {
        for features in feature_sets() {
            check(&reference, &configuration(&features));
        }
    }
}

#[test]
fn in_subgroups_of_every_size() {
    for name in ["sum", "softmax"] {
        for subgroup_size in [1, 2, 4, 8, 16, 32] {
            let base = configuration(&[Feature::SubgroupOps]);
            check(&named(name), &Configuration { subgroup_size, ..base });
        }
    }
}

#[test]
fn within_every_ulp_budget() {
    for ulp_budget in [None, Some(128), Some(u32::MAX)] {
        let policy = DispatchPolicy { ulp_budget, ..DispatchPolicy::default() };
        check(&named("softmax"), &Configuration { policy, ..configuration(&[]) });
    }
}

#[test]
fn in_workgroups_of_another_size() {
    let overridden =
        |size| DispatchPolicy { workgroup_override: Some(size), ..DispatchPolicy::default() };
    for features in feature_sets() {
        for name in ["saxpy", "saxpy_half", "histogram", "sum", "softmax"] {
            for size in [[32, 1, 1], [64, 1, 1], [512, 1, 1]] {
                let base = configuration(&features);
                check(&named(name), &Configuration { policy: overridden(size), ..base });
            }
        }
    }
    for name in ["saxpy", "saxpy_half", "histogram"] {
        let base = configuration(&[Feature::F16]);
        check(&named(name), &Configuration { policy: overridden([7, 1, 1]), ..base });
    }
}

#[test]
fn a_wrong_and_a_missing_element_are_named() {
    let exact = named("histogram").bindings.swap_remove(1);
    let right = exact.after.clone().unwrap();
    assert_eq!(exact.mismatch(&right), None);
    let mut wrong = right.clone();
    wrong[12] ^= 1;
    assert!(exact.mismatch(&wrong).unwrap().starts_with("slot 1, element 3: "));
    assert!(exact.mismatch(&right[..20]).unwrap().starts_with("slot 1, element 5: "));
    assert!(exact.mismatch(&[]).unwrap().starts_with("slot 1, element 0: "));

    let near = named("softmax").bindings.swap_remove(1);
    let right = near.after.clone().unwrap();
    let scaled = |factor: f32| -> Vec<u8> {
        let value = f32::from_le_bytes(right[8..12].try_into().unwrap()) * factor;
        [&right[..8], &value.to_le_bytes(), &right[12..]].concat()
    };
    assert_eq!(near.mismatch(&scaled(1.000_05)), None);
    assert!(near.mismatch(&scaled(1.001)).unwrap().starts_with("slot 1, element 2: "));
    assert!(near.mismatch(&scaled(f32::NAN)).unwrap().starts_with("slot 1, element 2: "));
}
