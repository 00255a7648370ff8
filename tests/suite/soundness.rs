//! Equal keys imply byte-equal PTX, and what changes the PTX changes the key.
//!
//! `PTX_SOUNDNESS_CASES` sets how many pairs are generated (default 2,048); `cargo xtask soundness`
//! runs a million.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ptx_ir::{Kernel, KernelParts, lower};
use ptx_key::{
    CompilerOption, Configuration, Contract, Digest, DispatchPolicy, Feature, FeatureFlags,
    KeyBuilder, NamedValue, ProgramDigests, PtxIsa, PtxKey, Toolchain,
};

pub(crate) fn cases() -> u32 {
    let asked = std::env::var("PTX_SOUNDNESS_CASES").ok();
    asked.map_or(2_048, |text| text.parse().unwrap())
}

pub(crate) fn runner(cases: u32) -> TestRunner {
    // A failure prints its smallest case; without a source file there is no place to keep it.
    let failure_persistence = None;
    TestRunner::new(Config {
        cases,
        max_shrink_iters: 2_000,
        failure_persistence,
        ..Config::default()
    })
}

/// What a configuration is made of. Each field has few values, so that two configurations are often
/// neighbours or equal.
#[derive(Clone, Debug)]
struct Recipe {
    plain: Configuration,
    features: Vec<Feature>,
    own_features: Vec<&'static str>,
    tool: Option<&'static str>,
    options: Vec<&'static str>,
    any_order: Vec<&'static str>,
}

impl Recipe {
    /// The configuration; `backwards` adds what has no order in the other direction.
    fn configuration(&self, backwards: bool) -> Configuration {
        let mut features = self.features.clone();
        let (mut own, mut any_order) = (self.own_features.clone(), self.any_order.clone());
        // Without halves most kernels are refused, which says nothing of their keys.
        features.push(Feature::F16);
        if backwards {
            features.reverse();
            own.reverse();
            any_order.reverse();
        }
        let named = own.into_iter().map(Into::into).collect();
        let features = FeatureFlags { named, ..FeatureFlags::of(features) };
        let flag = |word: &str| CompilerOption::flag(word).unwrap();
        let toolchain = self.tool.map(|tool| {
            let tool = Toolchain::new("cc", "1", Digest::of_bytes(tool.as_bytes()));
            let tool = self.options.iter().fold(tool, |tool, word| tool.option(flag(word)));
            any_order.iter().fold(tool, |tool, word| tool.option_in_any_order(flag(word)))
        });
        Configuration { features, toolchain, ..self.plain.clone() }
    }
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let targets = ["sm_80", "sm_89", "sm_90", "sm_90a"].map(|name| name.parse().unwrap());
    let target = prop::sample::select(targets.to_vec());
    let isa = prop::sample::select(vec![PtxIsa::new(8, 0), PtxIsa::new(8, 1)]);
    let subgroup = prop::sample::select(vec![32_u32, 16]);
    let ulp = prop::sample::select(vec![None, Some(0), Some(2), Some(128), Some(200)]);
    let size = prop::sample::select(vec![None, Some([32, 1, 1]), Some([128, 1, 1])]);
    let unroll = prop::sample::select(vec![None, Some(true), Some(false)]);
    let plain = (target, isa, subgroup, ulp, size, unroll, 1_u32..3).prop_map(
        |(target, isa, subgroup_size, ulp_budget, workgroup_override, unroll, version)| {
            let unroll = unroll.map(|unroll| ("unroll".to_owned(), NamedValue::Bool(unroll)));
            let named = unroll.into_iter().collect();
            Configuration {
                contract: Contract::new("ptx-ir", version),
                target,
                isa,
                subgroup_size,
                policy: DispatchPolicy { ulp_budget, workgroup_override, named },
                features: FeatureFlags::default(),
                toolchain: None,
            }
        },
    );
    let some = |all: &[&'static str]| prop::sample::subsequence(all.to_vec(), 0..=all.len());
    let features = prop::sample::subsequence(Feature::ALL.to_vec(), 0..=Feature::ALL.len());
    let tool = prop::sample::select(vec![None, Some("tool 1"), Some("tool 2")]);
    let options = some(&["-O3", "-O2"]).prop_shuffle();
    let parts =
        (plain, features, some(&["a", "b"]), tool, options, some(&["-G", "-lineinfo", "-w"]));
    parts.prop_map(|(plain, features, own_features, tool, options, any_order)| Recipe {
        plain,
        features,
        own_features,
        tool,
        options,
        any_order,
    })
}

/// Configurations that set every field.
pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    recipe().prop_map(|recipe| recipe.configuration(false))
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
    Reordered,
    SameProgram,
    SameConfiguration,
    Resized,
    Unrelated,
}

fn rebuilt(kernel: &Kernel) -> Kernel {
    Kernel::new(kernel).unwrap()
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
    let mut parts = KernelParts::clone(kernel);
    change(&mut parts);
    Kernel::new(&parts).unwrap()
}

#[test]
fn soundness_equal_keys_imply_equal_ptx() {
    let (equal, equal_texts, different) = (Held::default(), Held::default(), Held::default());
    let relation = prop::sample::select(vec![
        Relation::Rebuilt,
        Relation::Reordered,
        Relation::SameProgram,
        Relation::SameConfiguration,
        Relation::Resized,
        Relation::Unrelated,
    ]);
    let one = || (ptx_ir::arbitrary::kernel(), recipe());
    let pairs = (one(), one(), relation);
    let run = runner(cases()).run(&pairs, |((kernel, recipe), (other_kernel, other), relation)| {
        let (asked, other_asked) = (recipe.configuration(false), other.configuration(false));
        let (second_kernel, second) = match relation {
            Relation::Rebuilt => (rebuilt(&kernel), asked.clone()),
            Relation::Reordered => (rebuilt(&kernel), recipe.configuration(true)),
            Relation::SameProgram => (rebuilt(&kernel), other_asked),
            Relation::SameConfiguration => (other_kernel, asked.clone()),
            Relation::Resized => (resized(&kernel), asked.clone()),
            Relation::Unrelated => (other_kernel, other_asked),
        };
        let (text, second_text) = (lower(&kernel, &asked), lower(&second_kernel, &second));
        let keys_equal = key(&kernel, &asked) == key(&second_kernel, &second);
        if matches!(relation, Relation::Rebuilt | Relation::Reordered) {
            prop_assert!(keys_equal, "equal requests, different keys");
        }
        if equal.when(keys_equal) {
            prop_assert_eq!(&text, &second_text, "equal keys, different PTX");
        }
        equal_texts.when(keys_equal && text.is_ok());
        different.when(text.is_ok() && text != second_text);
        Ok(())
    });
    run.unwrap();
    equal.report("keys were equal", cases());
    equal_texts.report("keys were equal and the kernel lowered", cases());
    different.report("PTX differed", cases());
}

#[test]
fn soundness_equal_normalized_keys_imply_equal_ptx_without_asynchronous_copies() {
    let erased = Held::default();
    let run = runner(cases() / 8).run(
        &(ptx_ir::arbitrary::kernel(), configuration()),
        |(kernel, asked)| {
            let other = resized(&kernel);
            let keys = KeyBuilder::new(&asked).unwrap();
            let normalized = |kernel| keys.key(ProgramDigests::normalized_of(kernel));
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
            prop_assert_eq!(keys.key(trace.program), trace.key());
            Ok(())
        },
    );
    run.unwrap();
}
