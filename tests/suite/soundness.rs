//! Equal keys imply byte-equal PTX, and what changes the PTX changes the key.
//!
//! `PTX_SOUNDNESS_CASES` sets how many pairs are generated (default 2,048); `cargo xtask soundness`
//! runs a million.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ptx_ir::{Kernel, KernelParts, lower};
use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, Feature, FeatureFlags, KeyBuilder, NamedValue,
    ProgramDigests, PtxIsa, PtxKey, Toolchain,
};

fn cases() -> u32 {
    let asked = std::env::var("PTX_SOUNDNESS_CASES").ok();
    asked.map_or(2_048, |text| text.parse().unwrap())
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, max_shrink_iters: 2_000, ..Config::default() })
}

/// Every field that a configuration has, each from few values, so that two configurations are
/// often neighbours or equal.
pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    let targets = ["sm_80", "sm_89", "sm_90", "sm_90a"].map(|name| name.parse().unwrap());
    let target = prop::sample::select(targets.to_vec());
    let isa = prop::sample::select(vec![PtxIsa::new(8, 0), PtxIsa::new(8, 1)]);
    let subgroup = prop::sample::select(vec![32_u32, 16]);
    let ulp = prop::sample::select(vec![None, Some(0), Some(2), Some(4), Some(200)]);
    let size = prop::sample::select(vec![None, Some([32, 1, 1]), Some([128, 1, 1])]);
    let unroll = prop::sample::select(vec![None, Some(true), Some(false)]);
    let features = prop::sample::subsequence(Feature::ALL.to_vec(), 0..=Feature::ALL.len());
    let toolchain = prop::sample::select(vec![None, Some("tool 1"), Some("tool 2")]);
    let parts = (target, isa, subgroup, ulp, size, unroll, features, toolchain, 1_u32..3);
    parts.prop_map(|(target, isa, subgroup_size, ulp, size, unroll, features, tool, version)| {
        let unroll = unroll.map(|unroll| ("unroll".to_owned(), NamedValue::Bool(unroll)));
        Configuration {
            contract: Contract::new("ptx-ir", version),
            target,
            isa,
            subgroup_size,
            policy: DispatchPolicy {
                ulp_budget: ulp,
                workgroup_override: size,
                named: unroll.into_iter().collect(),
            },
            // Without halves most kernels are refused, which says nothing of their keys.
            features: FeatureFlags::of(features).with(Feature::F16),
            toolchain: tool
                .map(|tool| Toolchain::new("cc", "1", Digest::of_bytes(tool.as_bytes()))),
        }
    })
}

pub(crate) fn key(kernel: &Kernel, configuration: &Configuration) -> PtxKey {
    KeyBuilder::new(configuration).unwrap().key(kernel)
}

/// How often a premise held. A property whose premise never holds proves nothing.
#[derive(Default)]
struct Held(Cell<u32>);

impl Held {
    fn when(&self, premise: bool) -> bool {
        self.0.set(self.0.get() + u32::from(premise));
        premise
    }

    fn report(&self, premise: &str, cases: u32) {
        println!("{premise}: {} of {cases}", self.0.get());
        assert!(self.0.get() > cases / 20, "{premise}: too seldom to prove anything");
    }
}

/// A second request that is equal to the first, a neighbour of it, or unrelated.
#[derive(Clone, Copy, Debug)]
enum Relation {
    Rebuilt,
    SameProgram,
    SameConfiguration,
    Resized,
    Unrelated,
}

fn rebuilt(kernel: &Kernel) -> Kernel {
    Kernel::new(kernel.parts().clone()).unwrap()
}

/// The same kernel with other storage lengths.
fn resized(kernel: &Kernel) -> Kernel {
    change(kernel, |parts| {
        for buffer in &mut parts.buffers {
            if buffer.access != ptx_ir::Access::Workgroup {
                buffer.count = Some(buffer.count.unwrap_or(7) + 1);
            }
        }
    })
}

pub(crate) fn change(kernel: &Kernel, change: impl FnOnce(&mut KernelParts)) -> Kernel {
    let mut parts = kernel.clone().into_parts();
    change(&mut parts);
    Kernel::new(parts).unwrap()
}

#[test]
fn soundness_equal_keys_imply_equal_ptx() {
    let (equal, lowered) = (Held::default(), Held::default());
    let relation = prop::sample::select(vec![
        Relation::Rebuilt,
        Relation::SameProgram,
        Relation::SameConfiguration,
        Relation::Resized,
        Relation::Unrelated,
    ]);
    let one = || (ptx_ir::arbitrary::kernel(), configuration());
    let pairs = (one(), one(), relation);
    let run =
        runner(cases()).run(&pairs, |((kernel, asked), (other_kernel, other_asked), relation)| {
            let (second_kernel, second) = match relation {
                Relation::Rebuilt => (rebuilt(&kernel), asked.clone()),
                Relation::SameProgram => (rebuilt(&kernel), other_asked),
                Relation::SameConfiguration => (other_kernel, asked.clone()),
                Relation::Resized => (resized(&kernel), asked.clone()),
                Relation::Unrelated => (other_kernel, other_asked),
            };
            let (text, second_text) = (lower(&kernel, &asked), lower(&second_kernel, &second));
            let keys_equal = key(&kernel, &asked) == key(&second_kernel, &second);
            if equal.when(keys_equal) {
                prop_assert_eq!(&text, &second_text, "equal keys, different PTX");
            }
            if lowered.when(text.is_ok() && text != second_text) {
                prop_assert!(!keys_equal, "different PTX, equal keys");
            }
            Ok(())
        });
    run.unwrap();
    equal.report("keys were equal", cases());
    lowered.report("PTX differed", cases());
}

#[test]
fn soundness_equal_normalized_keys_imply_equal_ptx_without_asynchronous_copies() {
    let erased = Held::default();
    let run = runner(cases() / 8).run(
        &(ptx_ir::arbitrary::kernel(), configuration()),
        |(kernel, asked)| {
            let other = resized(&kernel);
            let keys = KeyBuilder::new(&asked).unwrap();
            let normalized = |kernel| keys.key_of(&ProgramDigests::normalized_of(kernel));
            prop_assert_eq!(normalized(&kernel), normalized(&other));
            prop_assert_ne!(keys.key(&kernel), keys.key(&other));
            // This is what a back end vouches for when it takes the normalized lane alone.
            if erased.when(!asked.features.contains(Feature::AsyncCompute)) {
                prop_assert_eq!(lower(&kernel, &asked), lower(&other, &asked));
            }
            Ok(())
        },
    );
    run.unwrap();
    erased.report("no asynchronous copies", cases() / 8);
}

#[test]
fn soundness_a_key_is_the_same_when_computed_again() {
    let run = runner(cases() / 8).run(
        &(ptx_ir::arbitrary::kernel(), configuration()),
        |(kernel, asked)| {
            let keys = KeyBuilder::new(&asked).unwrap();
            let trace = keys.trace(&kernel);
            prop_assert_eq!(trace.key(), keys.key(&rebuilt(&kernel)));
            prop_assert_eq!(keys.key_of(trace.program()), trace.key());
            Ok(())
        },
    );
    run.unwrap();
}
