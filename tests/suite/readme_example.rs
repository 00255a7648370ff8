//! README's example compiles, runs and does what README says: its lines are the lines of this file
//! between the marks.

use std::sync::Arc;

use ptx_cache::{Artifact, Attributes, Config, PtxCache, Source, WritePolicy};
use ptx_cuda::{Context, ModuleCache, Ptx, RecordingDriver};
use ptx_disk::DiskStore;
use ptx_ir::{Kernel, LowerError, reference};
use ptx_key::{Configuration, Contract, DispatchPolicy, Feature, FeatureFlags, KeyBuilder};

fn my_emitter(program: &Kernel, configuration: &Configuration) -> Result<String, LowerError> {
    ptx_ir::lower(program, configuration)
}

fn served_twice(
    program: &Kernel,
    configuration: &Configuration,
    store: ptx_disk::Config,
    context: &Context<RecordingDriver>,
) -> Result<(Source, Source), Box<dyn std::error::Error>> {
    // readme:begin
    let keys = KeyBuilder::new(configuration)?; // once for each configuration
    let disk = Arc::new(DiskStore::open(store)?); // once for each process, like both caches
    let texts = PtxCache::with_tiers(Config::default(), vec![disk.clone()], WritePolicy::Ignore);
    let modules = ModuleCache::new(Config::default()).with_cubins(disk); // machine code, same store

    let key = keys.key(program); // once for each program: keep it there
    let lower = || {
        let text = my_emitter(program, configuration)?; // from these two values and nothing else
        let mut artifact = Artifact::from(text).with_trace(keys.trace(program));
        artifact.attributes.set(Attributes::KERNEL, &*program.name); // whatever a launch needs
        Ok::<_, LowerError>(artifact)
    };
    let artifact = texts.get_or_lower(&key, lower)?;
    let module = modules.get_or_load(context, &context.module_key(&key), || Ptx::of(&artifact))?;
    let kernel = artifact.attributes.text(Attributes::KERNEL).unwrap_or_default();
    let function = module.function(kernel)?; // `function.raw()` is what the driver launches
    // readme:end
    assert!(artifact.payload.contains(".target sm_90"));
    assert_eq!(function.name(), program.name);
    let again = texts.get_or_lower(&key, lower)?.source;
    texts.clear();
    Ok((again, texts.get_or_lower(&key, lower)?.source))
}

#[test]
fn the_example_serves_from_memory_and_then_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = ptx_disk::Config::new(folder.path().join("store"));
    let configuration = Configuration {
        contract: Contract::new("ptx-ir", ptx_ir::CONTRACT_VERSION),
        target: "sm_90".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of([Feature::F16]),
        toolchain: None,
    };
    let kernel = reference::all().unwrap().swap_remove(0).kernel;
    let context = Context::primary(&RecordingDriver::new(), 0).unwrap();
    let sources = served_twice(&kernel, &configuration, store, &context).unwrap();
    assert_eq!(sources, (Source::Memory, Source::Tier("disk".into())));
}

#[test]
fn the_example_in_the_readme_is_this_one() {
    let between = |text: &str, begin: &str, end: &str| {
        let (_, behind) = text.split_once(begin).unwrap();
        let (inside, _) = behind.split_once(end).unwrap();
        inside.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let here = between(include_str!("readme_example.rs"), "// readme:begin\n", "// readme:end");
    let readme = between(include_str!("../../README.md"), "```rust,ignore\n", "```");
    assert_eq!(readme, here);
}
