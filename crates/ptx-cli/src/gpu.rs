//! Does each kernel load and compute the right values on this GPU?

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail};
use ptx_cache::PtxArtifact;
use ptx_cuda::{Argument, Config, Context, CustDriver, Function, ModuleCache, Ptx, Store};
use ptx_disk::DiskStore;
use ptx_ir::reference::Reference;
use ptx_ir::{Interface, Parameter};
use ptx_key::ModuleKey;

use crate::format;
use crate::programs::{Program, Source};

/// Prints a row for each program that this device runs: assembled and kept in the store, from
/// memory, and from the store by a new cache.
pub(crate) fn run<'a>(
    out: &mut dyn Write,
    programs: &[Program],
    artifacts: impl Iterator<Item = &'a PtxArtifact>,
    store: &Arc<DiskStore>,
) -> anyhow::Result<()> {
    let context = Context::primary(&CustDriver::new()?, 0)?;
    let device = context.device();
    writeln!(out, "\non {}, driver {}", device.name, context.driver_version())?;
    let cache = || {
        let cubins: Arc<dyn Store<ModuleKey>> = Arc::<DiskStore>::clone(store);
        ModuleCache::new(Config::default()).with_cubins(cubins)
    };
    let modules = cache();
    let mut lines = Vec::new();
    for (program, artifact) in programs.iter().zip(artifacts) {
        let ptx = Ptx::of(artifact)?;
        if !ptx.header().runs_on(device.compute_capability) {
            continue;
        }
        let key = context.module_key(&program.trace.key());
        let named = || format!("`{}` for {}", program.name, program.configuration.target);
        let entry = ptx.kernels().next().context("the text has no kernel")?;
        let load = |modules: &ModuleCache<CustDriver>| -> anyhow::Result<_> {
            let started = Instant::now();
            let image = || Ok::<_, ptx_cuda::CudaError>(ptx.clone());
            let served = modules.get_or_load(&context, &key, image).with_context(named)?;
            let function = served.function(entry).with_context(named)?;
            Ok((function, started.elapsed(), served.source))
        };
        let (_, cold, first) = load(&modules)?;
        let (_, warm, _) = load(&modules)?;
        // The next cache finds only what the store has.
        modules.flush();
        let (function, stored, second) = load(&cache())?;
        let values = match &program.source {
            Source::Kernel(reference) => {
                let interface = Interface::of(&reference.kernel, &program.configuration)?;
                launch(&function, reference, &interface).with_context(named)?;
                "right"
            }
            Source::File(_) => "loaded, not run",
        };
        lines.push([
            program.name.clone(),
            program.configuration.target.to_string(),
            program.features.to_owned(),
            format::time(cold),
            format::time(warm),
            format::time(stored),
            format!("{first}, {second}"),
            values.to_owned(),
        ]);
    }
    format::table(
        out,
        ["kernel", "target", "features", "load", "memory", "next life", "from", "values"],
        [false, false, false, true, true, true, false, false],
        &lines,
    )?;
    Ok(())
}

/// Launches the kernel on its inputs and compares its outputs.
fn launch(
    function: &Function<CustDriver>,
    reference: &Reference,
    interface: &Interface,
) -> anyhow::Result<()> {
    let [x, y] = reference.work.workgroups(interface);
    let mut contents: Vec<Vec<u8>> =
        reference.bindings.iter().map(|binding| binding.before.clone()).collect();
    let word = |parameter: &Parameter| match parameter {
        Parameter::Length(slot) => {
            let bound = reference.bindings.iter().find(|binding| binding.slot == *slot);
            bound.map_or(0, |binding| binding.length)
        }
        Parameter::WorkgroupsX => x,
        Parameter::WorkgroupsY => y,
        Parameter::Address(_) => 0,
    };
    let words: Vec<[u8; 4]> =
        interface.parameters.iter().map(|parameter| word(parameter).to_le_bytes()).collect();
    // Parameters and bindings have the same order of slots.
    let mut buffers = contents.iter_mut();
    let parameters = interface.parameters.iter().zip(&words);
    let mut arguments = parameters
        .map(|(parameter, word)| match parameter {
            Parameter::Address(_) => buffers.next().map(|buffer| Argument::Buffer(buffer)),
            _ => Some(Argument::Value(word)),
        })
        .collect::<Option<Vec<_>>>()
        .context("the kernel has more buffers than bindings")?;
    // Persistent workgroups may be fewer than the work has.
    let grid = if interface.persistent { [3, 1, 1] } else { [x, y, 1] };
    function.run(grid, interface.workgroup, 0, &mut arguments)?;
    for (binding, bytes) in reference.bindings.iter().zip(&contents) {
        if let Some(mismatch) = binding.mismatch(bytes) {
            bail!(mismatch);
        }
    }
    Ok(())
}
