//! Every reference kernel computes the right values under every configuration that changes it.

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
            binding.check(bytes).unwrap_or_else(|mismatch| {
                panic!("{}, {order:?}, {configuration:?}: {mismatch}", reference.kernel.name())
            });
            let changed = *bytes != binding.before;
            assert_eq!(changed, binding.after.is_some(), "slot {}", binding.slot);
        }
    }
}

fn named(name: &str) -> Reference {
    let mut all = reference::all().unwrap().into_iter();
    all.find(|reference| reference.kernel.name() == name).unwrap()
}

/// Every set of the features that change code, with halves.
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
    for ulp_budget in [None, Some(4), Some(127), Some(128), Some(u32::MAX)] {
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
