//! Each change of one thing, as a property of its own: whatever changes the PTX changes the key, and
//! the key trace names just the field that was changed.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ptx_ir::{Access, Kernel, lower};
use ptx_key::{
    CompilerOption, Configuration, Digest, Feature, KeyBuilder, KeyTrace, NamedValue, Target,
    Toolchain,
};

use crate::soundness::{cases, change, configuration, key, runner};

fn trace(kernel: &Kernel, configuration: &Configuration) -> KeyTrace {
    KeyBuilder::new(configuration).unwrap().trace(kernel)
}

/// The fields in which two requests differ, by their traces.
fn named(left: &KeyTrace, right: &KeyTrace) -> Vec<String> {
    left.differences(right).into_iter().map(|difference| difference.field).collect()
}

/// For generated kernels and configurations: `neighbour` changes just `field`, so the key differs
/// and the trace names that field alone. In at least one case the PTX differs too, if `reaches_ptx`.
fn one_field(
    field: &str,
    reaches_ptx: bool,
    neighbour: impl Fn(&mut Configuration) -> bool + Clone,
) {
    let mut runner = runner((cases() / 64).max(128));
    let changed = std::cell::Cell::new(0_u32);
    let texts = std::cell::Cell::new(0_u32);
    let run = runner.run(&(ptx_ir::arbitrary::kernel(), configuration()), |(kernel, asked)| {
        let mut other = asked.clone();
        if !neighbour(&mut other) {
            return Ok(());
        }
        changed.set(changed.get() + 1);
        prop_assert_ne!(key(&kernel, &asked), key(&kernel, &other));
        prop_assert_eq!(named(&trace(&kernel, &asked), &trace(&kernel, &other)), [field]);
        texts.set(texts.get() + u32::from(lower(&kernel, &asked) != lower(&kernel, &other)));
        Ok(())
    });
    run.unwrap();
    assert!(changed.get() > 10, "{field} was hardly ever changed");
    assert_eq!(texts.get() > 0, reaches_ptx, "{field} in {} texts", texts.get());
}

#[test]
fn soundness_target_plus_one() {
    one_field("target", true, |it| {
        let next = Target { number: it.target.number + 1, ..it.target };
        it.target = next;
        true
    });
}

#[test]
fn soundness_target_variant() {
    one_field("target", true, |it| {
        let plain = it.target == "sm_90".parse().unwrap();
        it.target = "sm_90a".parse().unwrap();
        plain
    });
}

#[test]
fn soundness_subgroup_plus_one() {
    one_field("subgroup_size", true, |it| {
        it.subgroup_size += 1;
        true
    });
}

#[test]
fn soundness_isa_version() {
    one_field("ptx_isa", true, |it| {
        it.isa.minor += 1;
        true
    });
}

#[test]
fn soundness_contract_version() {
    one_field("contract/version", true, |it| {
        it.contract.version += 1;
        true
    });
}

#[test]
fn soundness_contract_name() {
    one_field("contract/name", true, |it| {
        it.contract.name.push('2');
        true
    });
}

#[test]
fn soundness_an_added_feature() {
    for feature in Feature::ALL {
        // The emitter uses no tensor cores, and the generated configurations have halves.
        let reaches_ptx = !matches!(feature, Feature::TensorCores | Feature::Bf16);
        if feature != Feature::F16 {
            one_field(&format!("feature/{}", feature.name()), reaches_ptx, move |it| {
                let new = !it.features.contains(feature);
                it.features.known.insert(feature);
                new
            });
        }
    }
}

#[test]
fn soundness_an_added_feature_of_the_back_ends_own() {
    one_field("feature/named/tile-swizzle", false, |it| {
        it.features.named.insert("tile-swizzle".to_owned());
        true
    });
}

#[test]
fn soundness_ulp_budget() {
    one_field("policy/ulp_budget", true, |it| {
        it.policy.ulp_budget = match it.policy.ulp_budget {
            None => Some(0),
            Some(ulp) => Some(ulp + 2),
        };
        true
    });
}

#[test]
fn soundness_workgroup_override() {
    one_field("policy/workgroup_override", true, |it| {
        it.policy.workgroup_override = match it.policy.workgroup_override {
            None => Some([64, 1, 1]),
            Some([x, y, z]) => Some([x * 2, y, z]),
        };
        true
    });
}

#[test]
fn soundness_named_policy() {
    one_field("policy/named/unroll", true, |it| {
        let rolled = it.policy.named.get("unroll") == Some(&NamedValue::Bool(false));
        it.policy.named.insert("unroll".to_owned(), rolled.into());
        true
    });
}

#[test]
fn soundness_toolchain() {
    let edit = |edit: fn(Toolchain) -> Toolchain| {
        move |it: &mut Configuration| match it.toolchain.take() {
            Some(toolchain) => {
                it.toolchain = Some(edit(toolchain));
                true
            }
            None => false,
        }
    };
    one_field(
        "toolchain/options",
        false,
        edit(|it| it.option(CompilerOption::flag("-O3").unwrap())),
    );
    one_field(
        "toolchain/option/-G",
        false,
        edit(|it| it.option_in_any_order(CompilerOption::flag("-G").unwrap())),
    );
    one_field("toolchain/content/a.h", false, edit(|it| it.content("a.h", Digest::of_bytes(b"a"))));
}

/// Runs `property` on generated kernels.
fn for_kernels(property: impl Fn(Kernel, Configuration) -> Result<(), TestCaseError>) {
    let mut runner = runner((cases() / 64).max(256));
    let run = runner.run(&(ptx_ir::arbitrary::kernel(), configuration()), |(kernel, asked)| {
        property(kernel, asked)
    });
    run.unwrap();
}

const PROGRAM: [&str; 2] = ["program/exact", "program/normalized"];

#[test]
fn soundness_another_tool() {
    for_kernels(|kernel, asked| {
        let with = |name, version, tool: &[u8]| {
            let toolchain = Toolchain::new(name, version, Digest::of_bytes(tool))
                .option(CompilerOption::flag("-O3").unwrap());
            trace(&kernel, &Configuration { toolchain: Some(toolchain), ..asked.clone() })
        };
        let first = with("cc", "1", b"build 1");
        for (field, other) in [
            ("toolchain/name", with("c++", "1", b"build 1")),
            ("toolchain/version", with("cc", "2", b"build 1")),
            ("toolchain/fingerprint", with("cc", "1", b"build 2")),
        ] {
            prop_assert_ne!(first.key(), other.key());
            prop_assert_eq!(named(&first, &other), [field]);
        }
        Ok(())
    });
}

#[test]
fn soundness_swapped_binding_slots() {
    for_kernels(|kernel, asked| {
        let swapped = change(&kernel, |parts| {
            let (first, second) = (parts.buffers[0].slot, parts.buffers[1].slot);
            parts.buffers[0].slot = second;
            parts.buffers[1].slot = first;
        });
        prop_assert_ne!(key(&kernel, &asked), key(&swapped, &asked));
        prop_assert_eq!(named(&trace(&kernel, &asked), &trace(&swapped, &asked)), PROGRAM);
        Ok(())
    });
}

#[test]
fn soundness_shared_array_length() {
    for_kernels(|kernel, asked| {
        let longer = change(&kernel, |parts| {
            for buffer in &mut parts.buffers {
                if buffer.access == Access::Workgroup {
                    buffer.count = buffer.count.map(|count| count + 1);
                }
            }
        });
        prop_assert_eq!(named(&trace(&kernel, &asked), &trace(&longer, &asked)), PROGRAM);
        if let (Ok(text), Ok(longer)) = (lower(&kernel, &asked), lower(&longer, &asked)) {
            prop_assert_ne!(text, longer, "the length of workgroup memory is in the text");
        }
        Ok(())
    });
}

#[test]
fn soundness_runtime_storage_resize() {
    let texts = std::cell::Cell::new(0_u32);
    for_kernels(|kernel, asked| {
        let resized = change(&kernel, |parts| {
            parts.buffers[0].count = Some(parts.buffers[0].count.unwrap_or(0) + 1);
        });
        let (one, two) = (trace(&kernel, &asked), trace(&resized, &asked));
        prop_assert_eq!(one.program.normalized, two.program.normalized);
        prop_assert_eq!(named(&one, &two), ["program/exact"]);
        prop_assert_ne!(one.key(), two.key());
        texts.set(texts.get() + u32::from(lower(&kernel, &asked) != lower(&resized, &asked)));
        Ok(())
    });
    assert!(texts.get() > 0, "no asynchronous copy baked a count: the exact lane was not needed");
}

#[test]
fn soundness_every_statement_and_variable_counts() {
    for_kernels(|kernel, asked| {
        let mut keys = BTreeSet::from([key(&kernel, &asked)]);
        let without_first = change(&kernel, |parts| drop(parts.body.remove(0)));
        prop_assert!(keys.insert(key(&without_first, &asked)));
        let twice = change(&kernel, |parts| parts.body.insert(0, parts.body[0].clone()));
        prop_assert!(keys.insert(key(&twice, &asked)));
        let more = change(&kernel, |parts| parts.variables.push(ptx_ir::Type::F32));
        prop_assert!(keys.insert(key(&more, &asked)));
        let named = change(&kernel, |parts| parts.name.push('2'));
        prop_assert!(keys.insert(key(&named, &asked)));
        let wider = change(&kernel, |parts| parts.workgroup[0] *= 2);
        prop_assert!(keys.insert(key(&wider, &asked)));
        let fixed = change(&kernel, |parts| parts.fixed_workgroup = !parts.fixed_workgroup);
        prop_assert!(keys.insert(key(&fixed, &asked)));
        Ok(())
    });
}
