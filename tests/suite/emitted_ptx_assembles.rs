//! Real `ptxas` accepts what the emitter puts out, for every kernel, target and feature set.

use std::collections::BTreeSet;
use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ptx_ir::{CONTRACT_VERSION, Kernel, lower, oldest_isa, reference};
use ptx_key::{
    Configuration, Contract, DispatchPolicy, Feature, FeatureFlags, NamedValue, PtxIsa, Target,
};
use ptx_tests::{AssemblyError, Ptxas};

const TARGETS: [&str; 23] = [
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
    "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f",
    "sm_120", "sm_120a", "sm_120f", "sm_121",
];

fn configuration(target: &str, features: FeatureFlags) -> Configuration {
    let target: Target = target.parse().unwrap();
    Configuration {
        contract: Contract::new("ptx-ir", CONTRACT_VERSION),
        target,
        // Asynchronous copies and brain floats need 7.0.
        isa: oldest_isa(target).unwrap().max(PtxIsa::new(7, 0)),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features,
        toolchain: None,
    }
}

/// Every feature that the target has.
fn features_of(target: &str) -> Vec<Feature> {
    let number = target.parse::<Target>().unwrap().number;
    let has = |feature: &Feature| match feature {
        Feature::Bf16 | Feature::AsyncCompute => number >= 80,
        _ => true,
    };
    Feature::ALL.into_iter().filter(has).collect()
}

/// `ptxas` 13 assembles for `sm_75` and newer; text for an older target runs on those.
fn architecture(target: &str) -> &str {
    if matches!(target, "sm_70" | "sm_72") { "sm_75" } else { target }
}

fn assemble(ptxas: &Ptxas, kernel: &Kernel, configuration: &Configuration, target: &str) {
    let text = lower(kernel, configuration).unwrap();
    match ptxas.assemble(&text, architecture(target)) {
        Ok(cubin) => assert_eq!(cubin.get(..4), Some(b"\x7fELF".as_slice())),
        Err(AssemblyError::Refused { said }) => {
            panic!("{} for {target}: {said}\n{text}", kernel.name)
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs the jobs on two threads.
fn in_parallel<T: Sync>(jobs: &[T], run: impl Fn(&T) + Sync) {
    let next = Mutex::new(jobs.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let job = next.lock().unwrap().next();
                    let Some(job) = job else { return };
                    run(job);
                }
            });
        }
    });
}

#[test]
fn every_reference_kernel_for_every_target_with_and_without_features() {
    let Some(ptxas) = Ptxas::find() else { return };
    let references = reference::all().unwrap();
    let mut jobs = Vec::new();
    for reference in &references {
        for target in TARGETS {
            let all = FeatureFlags::of(features_of(target));
            jobs.push((&reference.kernel, target, configuration(target, all)));
            // Halves need their feature; nothing else does.
            let few = FeatureFlags::of([Feature::F16]);
            jobs.push((&reference.kernel, target, configuration(target, few)));
        }
    }
    in_parallel(&jobs, |(kernel, target, configuration)| {
        assemble(&ptxas, kernel, configuration, target);
    });
    println!("{} assembled", jobs.len());
}

#[test]
fn every_reference_kernel_with_rolled_loops_and_with_small_subgroups() {
    let Some(ptxas) = Ptxas::find() else { return };
    let references = reference::all().unwrap();
    let rolled = DispatchPolicy {
        named: [("unroll".to_owned(), NamedValue::Bool(false))].into(),
        ..DispatchPolicy::default()
    };
    let mut jobs = Vec::new();
    for reference in &references {
        for features in [vec![Feature::F16], features_of("sm_90a")] {
            let base = configuration("sm_90a", FeatureFlags::of(features));
            let rolled = Configuration { policy: rolled.clone(), ..base.clone() };
            jobs.push((&reference.kernel, rolled));
            jobs.push((&reference.kernel, Configuration { subgroup_size: 8, ..base }));
        }
    }
    in_parallel(&jobs, |(kernel, configuration)| {
        assemble(&ptxas, kernel, configuration, "sm_90a");
    });
}

#[test]
fn generated_kernels() {
    let Some(ptxas) = Ptxas::find() else { return };
    let mut runner = TestRunner::new(Config { cases: 64, ..Config::default() });
    let subsets = prop::sample::subsequence(Feature::ALL.to_vec(), 0..=Feature::ALL.len());
    let budgets = prop::sample::select(vec![None, Some(0)]);
    let generated = (ptx_ir::arbitrary::kernel(), subsets, budgets);
    let runs = runner.run(&generated, |(kernel, features, ulp_budget)| {
        let features = FeatureFlags::of(features.into_iter().chain([Feature::F16]));
        let mut asked = configuration("sm_90", features);
        asked.policy.ulp_budget = ulp_budget;
        // No exponential is exact.
        if ulp_budget.is_none() || lower(&kernel, &asked).is_ok() {
            assemble(&ptxas, &kernel, &asked, "sm_90");
        }
        Ok(())
    });
    runs.unwrap();
}

#[test]
fn the_oldest_isa_of_each_target_is_not_older_than_ptxas_says() {
    let Some(ptxas) = Ptxas::find() else { return };
    let kernel = &reference::all().unwrap()[0].kernel;
    let mut refused = BTreeSet::new();
    for target in TARGETS {
        let mut asked = configuration(target, FeatureFlags::default());
        asked.isa = oldest_isa(asked.target).unwrap();
        assemble(&ptxas, kernel, &asked, target);
        // One version older, written over: the table names the oldest that will do.
        let text = lower(kernel, &asked).unwrap();
        let older = PtxIsa::new(asked.isa.major, asked.isa.minor.saturating_sub(1));
        let older = text.replace(&format!(".version {}", asked.isa), &format!(".version {older}"));
        if asked.isa.minor > 0 && ptxas.assemble(&older, architecture(target)).is_err() {
            refused.insert(target);
        }
    }
    println!("refused one version earlier: {refused:?}");
    assert!(refused.contains("sm_89") && refused.contains("sm_100f"));
}
