//! Every reference kernel computes the right values through the whole stack.

use std::time::Instant;

use ptx_cuda::{Argument, Config, Context, CustDriver, Function, Ptx};
use ptx_disk::DiskStore;
use ptx_ir::{Parameter, lower};
use ptx_key::KeyBuilder;

use crate::cuda_stack::{Lowering, Stack, lowerings, stack_over};
use crate::gpu_device::{Gpu, gpu};

/// Launches the kernel on its inputs and compares what came out.
pub(crate) fn check(function: &Function<CustDriver>, lowering: &Lowering) -> Result<(), String> {
    let Lowering { reference, interface, .. } = lowering;
    let [x, y] = reference.work.workgroups(interface);
    let mut contents: Vec<_> =
        reference.bindings.iter().map(|binding| binding.before.clone()).collect();
    let words: Vec<[u8; 4]> = interface
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Length(slot) => {
                let binding = reference.bindings.iter().find(|binding| binding.slot == *slot);
                binding.unwrap().length.to_le_bytes()
            }
            Parameter::WorkgroupsX => x.to_le_bytes(),
            Parameter::WorkgroupsY => y.to_le_bytes(),
            Parameter::Address(_) => [0; 4],
        })
        .collect();
    let mut buffers = contents.iter_mut();
    let mut arguments: Vec<_> = interface
        .parameters
        .iter()
        .zip(&words)
        .map(|(parameter, word)| match parameter {
            // Addresses stand in the order of slots, as the bindings do.
            Parameter::Address(_) => Argument::Buffer(buffers.next().unwrap()),
            _ => Argument::Value(word),
        })
        .collect();
    // Persistent workgroups may be fewer than the work has: three do it all.
    let grid = if interface.persistent { [3, 1, 1] } else { [x, y, 1] };
    function
        .run(grid, interface.workgroup, 0, &mut arguments)
        .map_err(|error| error.to_string())?;
    for (binding, bytes) in reference.bindings.iter().zip(&contents) {
        binding.mismatch(bytes).map_or(Ok(()), Err)?;
    }
    Ok(())
}

pub(crate) fn check_all(
    context: &Context<CustDriver>,
    through: &str,
    load: impl Fn(&Lowering) -> Function<CustDriver>,
) {
    println!(
        "{through}\n{:<14} {:<8} {:<9} {:>9} {:>10}  values",
        "kernel", "target", "features", "PTX bytes", "load µs"
    );
    let mut wrong = Vec::new();
    for lowering in &lowerings(context.device().compute_capability) {
        let Lowering { reference, configuration, .. } = lowering;
        let started = Instant::now();
        let function = load(lowering);
        let micros = started.elapsed().as_micros();
        let result = check(&function, lowering);
        let name = &reference.kernel.name;
        println!(
            "{name:<14} {:<8} {:<9} {:>9} {micros:>10}  {}",
            configuration.target.to_string(),
            if lowering.interface.persistent { "all" } else { "f16" },
            function.module().bytes(),
            result.as_ref().map_or_else(String::as_str, |()| "right"),
        );
        if let Err(error) = result {
            wrong.push(format!("{name} for {}: {error}", configuration.target));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong, the first: {}", wrong.len(), wrong[0]);
}

#[test]
fn from_text_and_again_from_memory() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let stack = Stack::new(Config::default());
    let load = |lowering: &Lowering| stack.function(&context, lowering).unwrap();
    check_all(&context, "from PTX text, assembled by the driver", load);
    check_all(&context, "from memory", load);
    let snapshot = stack.modules.snapshot().memory;
    assert_eq!(snapshot.hits, snapshot.computed, "{snapshot:?}");
}

#[test]
fn from_a_cubin_of_the_drivers_linker() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    check_all(&context, "from a cubin, assembled by the driver's linker beforehand", |lowering| {
        let text = lower(&lowering.reference.kernel, &lowering.configuration).unwrap();
        let cubin = context.assemble(&Ptx::new(text).unwrap()).unwrap().cubin;
        context.load(&cubin.into()).unwrap().function(&lowering.interface.entry).unwrap()
    });
}

#[test]
fn after_eviction_and_reload() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let stack = Stack::new(Config::default());
    check_all(&context, "loaded, retired while a launch may run, and loaded again", |lowering| {
        let before = stack.function(&context, lowering).unwrap();
        stack.modules.clear();
        let after = stack.function(&context, lowering).unwrap();
        check(&before, lowering).unwrap();
        after
    });
}

#[test]
fn after_a_refused_cubin_was_assembled_again() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let lowering = &lowerings(context.device().compute_capability)[0];
    let key = KeyBuilder::new(&lowering.configuration).unwrap().key(&lowering.reference.kernel);
    let key = context.module_key(&key);
    // Whole as an entry and as an ELF image, and of a kind that the driver does not take.
    let mut image = [0_u8; 64];
    image[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
    (image[16], image[18], image[20], image[49], image[52]) = (2, 190, 1, 90, 64);
    let disk = DiskStore::open(ptx_disk::Config::new(folder.path().join("store"))).unwrap();
    let _ = ptx_disk::Store::store(&disk, &key, &ptx_disk::Artifact::new(image));
    for (refused, hits) in [(1, 0), (0, 1)] {
        let stack = stack_over(&folder.path().join("store"), Config::default());
        check(&stack.function(&context, lowering).unwrap(), lowering).unwrap();
        let counts = stack.modules.snapshot().cubins;
        println!("{counts:?}");
        assert_eq!((counts.refused, counts.hits), (refused, hits));
    }
}
