//! What the emitter lets pass at its limits, real `ptxas` lets pass too; one step further `ptxas`
//! refuses as well, so that no limit is there without need.

use ptx_ir::{
    Access, CONTRACT_VERSION, Element, Kernel, KernelParts, Reduction, Statement, lower,
    oldest_isa, reference, x,
};
use ptx_key::{Configuration, Contract, DispatchPolicy, Feature, FeatureFlags};
use ptx_tests::Ptxas;

fn configuration(target: &str, features: &[Feature]) -> Configuration {
    let target = target.parse().unwrap();
    Configuration {
        contract: Contract::new("ptx-ir", CONTRACT_VERSION),
        target,
        isa: oldest_isa(target).unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of(features.iter().copied()),
        toolchain: None,
    }
}

fn assembles(ptxas: &Ptxas, kernel: &Kernel, configuration: &Configuration) {
    let text = lower(kernel, configuration).unwrap();
    let assembled = ptxas.assemble(&text, &configuration.target.to_string());
    assembled.unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn names_that_are_words_of_ptx() {
    let Some(ptxas) = Ptxas::find() else { return };
    for name in ["add", "mov", "ret", "shared", "param", "partials", "length_0", "L1", "texture"] {
        let mut kernel = KernelParts::new(name, [32, 1, 1]);
        let values = kernel.buffer(0, Access::ReadWrite, Element::F32, None);
        let sum = kernel.reduce(Reduction::Sum, values.at(x()));
        kernel.store(values, x(), sum);
        assembles(&ptxas, &Kernel::new(&kernel).unwrap(), &configuration("sm_75", &[]));
    }
}

#[test]
fn as_many_buffers_as_there_may_be() {
    let Some(ptxas) = Ptxas::find() else { return };
    let mut kernel = KernelParts::new("many", [32, 1, 1]);
    let buffers: Vec<_> = (0..256)
        .map(|slot| kernel.buffer(slot * 16_000_000, Access::ReadWrite, Element::F32, None))
        .collect();
    for pair in buffers.windows(2) {
        kernel.store(pair[0], x(), pair[1].at(x()));
    }
    let features = [Feature::PersistentThread];
    assembles(&ptxas, &Kernel::new(&kernel).unwrap(), &configuration("sm_75", &features));
}

#[test]
fn as_much_workgroup_memory_as_there_may_be() {
    let Some(ptxas) = Ptxas::find() else { return };
    let reducing = |elements| {
        let mut kernel = KernelParts::new("full", [1024, 1, 1]);
        let tile = kernel.buffer(0, Access::Workgroup, Element::F32, Some(elements));
        let values = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
        kernel.store(tile, x() % elements, values.at(x()));
        kernel.body.push(Statement::Barrier);
        let sum = kernel.reduce(Reduction::Sum, tile.at(0));
        kernel.store(values, x(), sum);
        Kernel::new(&kernel).unwrap()
    };
    let most = (48 * 1024 - 4 * 1024) / 4;
    let asked = configuration("sm_90", &[]);
    assembles(&ptxas, &reducing(most), &asked);
    assert!(lower(&reducing(most + 1), &asked).is_err());
    // The same text with four elements more, which the emitter refuses to write.
    let text = lower(&reducing(most), &asked).unwrap();
    let declared = format!("shared_0[{}]", most * 4);
    assert!(text.contains(&declared), "{text}");
    let text = text.replace(&declared, &format!("shared_0[{}]", (most + 4) * 4));
    assert!(ptxas.assemble(&text, "sm_90").is_err(), "there is room for more");
}

#[test]
fn brain_floats_and_atomic_additions_everywhere() {
    let Some(ptxas) = Ptxas::find() else { return };
    let mut kernel = KernelParts::new("brain", [64, 1, 1]);
    let input = kernel.buffer(0, Access::Read, Element::Bf16, None);
    let output = kernel.buffer(1, Access::ReadWrite, Element::Bf16, None);
    let floats = kernel.buffer(2, Access::ReadWrite, Element::F32, None);
    let signed = kernel.buffer(3, Access::ReadWrite, Element::I32, None);
    let tile = kernel.buffer(4, Access::Workgroup, Element::Bf16, Some(64));
    let (sums, counts) = (
        kernel.buffer(5, Access::Workgroup, Element::F32, Some(64)),
        kernel.buffer(6, Access::Workgroup, Element::I32, Some(64)),
    );
    kernel.store(tile, x() % 64, input.at(x()));
    kernel.body.push(Statement::Barrier);
    kernel.store(output, x(), tile.at(x() % 64) + output.at(x()));
    kernel.atomic_add(floats, x(), 1.0);
    kernel.atomic_add(signed, x(), ptx_ir::Expression::I32(i32::MIN));
    kernel.atomic_add(sums, x() % 64, 1.0);
    kernel.atomic_add(counts, x() % 64, ptx_ir::Expression::I32(-1));
    kernel.body.push(Statement::Barrier);
    let kernel = Kernel::new(&kernel).unwrap();
    for target in ["sm_80", "sm_87", "sm_90a", "sm_100f", "sm_120", "sm_121a", "sm_121f"] {
        assembles(&ptxas, &kernel, &configuration(target, &[Feature::Bf16]));
    }
}

#[test]
fn every_subgroup_size_and_workgroup_override() {
    let Some(ptxas) = Ptxas::find() else { return };
    let all = reference::all().unwrap();
    let reducing = all.iter().filter(|it| ["sum", "softmax"].contains(&it.kernel.name.as_str()));
    for reference in reducing {
        for (subgroup_size, size) in [(1, 1024), (2, 32), (4, 64), (16, 512), (32, 1024)] {
            let mut asked = configuration("sm_90", &[Feature::SubgroupOps]);
            asked.subgroup_size = subgroup_size;
            asked.policy.workgroup_override = Some([size, 1, 1]);
            assembles(&ptxas, &reference.kernel, &asked);
        }
    }
}

/// `emitted_ptx_assembles` has all other targets.
#[test]
fn every_reference_kernel_for_the_variants_of_the_newest_target() {
    let Some(ptxas) = Ptxas::find() else { return };
    for reference in reference::all().unwrap() {
        for target in ["sm_121a", "sm_121f"] {
            assembles(&ptxas, &reference.kernel, &configuration(target, &Feature::ALL));
            assembles(&ptxas, &reference.kernel, &configuration(target, &[Feature::F16]));
        }
    }
}
