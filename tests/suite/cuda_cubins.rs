//! Cubins on a real disk: assembled once for all processes, loaded by the next, made again where
//! they are damaged, and made offline where the driver is too old.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use ptx_cache::{Artifact, PtxCache, Store, WritePolicy};
use ptx_cuda::{
    Config, Context, CudaError, DriverVersion, ModuleCache, Ptx, Ptxas as Assembler,
    RecordingDriver, Source,
};
use ptx_disk::DiskStore;
use ptx_key::{ComputeCapability, JitOptions, ModuleKey, PtxKey};
use ptx_tests::{Ptxas, Role};

const DEVICE: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// A text with one kernel, which any assembler takes.
fn text(number: usize) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry kernel_{number}(.param .u64 to)\n{{\n    .reg .u64 %a;\n    \
         ld.param.u64 %a, [to];\n    st.global.u64 [%a], {number};\n    ret;\n}}\n"
    )
}

fn cache(root: &Path) -> ModuleCache<RecordingDriver> {
    let disk = DiskStore::open(ptx_disk::Config::new(root)).unwrap();
    let store: Arc<dyn Store<ModuleKey>> = Arc::new(disk);
    ModuleCache::new(Config::default()).with_cubins(store)
}

fn context() -> Context<RecordingDriver> {
    Context::primary(&RecordingDriver::new(), 0).unwrap()
}

/// Loads a text and looks its kernel up.
fn load(
    modules: &ModuleCache<RecordingDriver>,
    context: &Context<RecordingDriver>,
    number: usize,
) -> Result<Source, CudaError> {
    let text = text(number);
    let key = context.module_key_of_text(&text);
    let served = modules.get_or_load(context, &key, || Ptx::new(text))?;
    served.value.function(&format!("kernel_{number}"))?;
    Ok(served.source)
}

fn assembler() -> Option<Arc<Assembler>> {
    Some(Arc::new(Assembler::new(Ptxas::find()?.path()).unwrap()))
}

#[test]
fn a_damaged_cubin_is_assembled_again() {
    let folder = tempfile::tempdir().unwrap();
    let (root, context) = (folder.path().join("store"), context());
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), Source::Computed);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), Source::Tier("disk".into()));
    let key = context.module_key_of_text(&text(1)).to_string();
    let folder = root.join(format!("entries-1/{key:.2}"));
    let entry = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&entry).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&entry, bytes).unwrap();
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), Source::Computed);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), Source::Tier("disk".into()));
}

#[test]
fn a_whole_entry_that_the_driver_refuses_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (root, context) = (folder.path().join("store"), context());
    let key = context.module_key_of_text(&text(1));
    let disk = DiskStore::open(ptx_disk::Config::new(&root)).unwrap();
    let _ = disk.store(&key, &Artifact::new(*b"no cubin"));
    let modules = cache(&root);
    assert_eq!(load(&modules, &context, 1).unwrap(), Source::Computed);
    assert_eq!(modules.snapshot().cubins.refused, 1);
    drop(modules);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), Source::Tier("disk".into()));
}

const MODULES: usize = 5;
const RANKS: usize = 64;
const RANK: Role = Role::new("cuda_cubins::rank");

#[test]
fn rank() {
    let Some(root) = RANK.argument() else { return };
    let (modules, context) = (cache(Path::new(&root)), context());
    for number in 0..MODULES {
        load(&modules, &context, number).unwrap();
    }
    println!("assembled {}", modules.snapshot().cubins.assembled);
}

#[test]
fn the_ranks_of_a_node_assemble_each_module_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let start = |_| RANK.command(root.to_str().unwrap()).unwrap().spawn().unwrap();
    let ranks: Vec<_> = (0..RANKS).map(start).collect();
    let assembled = ranks.into_iter().map(|rank| {
        let output = rank.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, number) = said.split_once("assembled ").unwrap();
        number.split_whitespace().next().unwrap().parse::<usize>().unwrap()
    });
    assert_eq!(assembled.sum::<usize>(), MODULES);
}

#[test]
fn the_caches_of_a_process_assemble_each_module_once() {
    const CACHES: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let gate = Barrier::new(CACHES);
    let assembled = thread::scope(|scope| {
        let run = || {
            let (modules, context) = (cache(&root), context());
            for number in 0..MODULES {
                gate.wait();
                load(&modules, &context, number).unwrap();
            }
            modules.snapshot().cubins.assembled
        };
        let caches: Vec<_> = (0..CACHES).map(|_| scope.spawn(run)).collect();
        caches.into_iter().map(|cache| cache.join().unwrap()).sum::<u64>()
    });
    assert_eq!(assembled, MODULES as u64);
}

#[test]
fn what_ptxas_assembled_is_loaded_in_the_next_life() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    for expected in [Source::Computed, Source::Tier("disk".into())] {
        let context = context().assembled_by(&ptxas);
        assert_eq!(load(&cache(&root), &context, 1).unwrap(), expected);
    }
    // The driver's own are under other keys.
    assert_eq!(load(&cache(&root), &context(), 1).unwrap(), Source::Computed);
}

#[test]
fn what_ptxas_does_not_take_the_driver_may() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let modules = cache(&folder.path().join("store"));
    let context = context().assembled_by(&ptxas);
    // The recording driver looks at the header alone.
    let text = text(1).replace("ret;", "rot;");
    let key = context.module_key_of_text(&text);
    let served = modules.get_or_load(&context, &key, || Ptx::new(text)).unwrap();
    assert_eq!(served.source, Source::Computed);
    assert_eq!(modules.snapshot().cubins.given, 1, "the driver loads the text as it is");
}

#[test]
fn a_text_that_the_driver_is_too_old_for_is_assembled_by_ptxas() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    // CUDA 11.8 knows PTX ISA 7.8.
    let driver = RecordingDriver::with_devices(DriverVersion(11_080), &[DEVICE]);
    let context = Context::primary(&driver, 0).unwrap();
    let error = load(&cache(&root), &context, 1).unwrap_err().to_string();
    assert!(error.contains("lower for PTX ISA 7.8"), "{error}");
    for expected in [Source::Computed, Source::Tier("disk".into())] {
        let modules = cache(&root).with_ptxas(Arc::clone(&ptxas));
        assert_eq!(load(&modules, &context, 1).unwrap(), expected);
        assert_eq!(modules.snapshot().cubins.rescued, 1);
    }
}

/// Nobody would notice it: what was assembled is gone when the process ends.
#[test]
fn who_warms_a_store_that_keeps_nothing_is_told() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mode = ptx_disk::Mode::ReadOnly;
    let config = ptx_disk::Config { mode, ..ptx_disk::Config::new(folder.path().join("store")) };
    let disk = DiskStore::open(config).unwrap();
    let jit = ptxas.jit(DEVICE, JitOptions::default());
    let text = text(1);
    let wanted = [(jit.key_of_text(&text), || Ptx::new(text.as_str()))];
    let warmed = ptxas.warm(&disk, &jit, wanted, None, |_| {});
    assert_eq!((warmed.computed, warmed.failures.len()), (0, 1), "{warmed:?}");
    let error: &dyn std::error::Error = &warmed.failures[0].1;
    let chain = std::iter::successors(Some(error), |error| error.source());
    let said = chain.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(said.contains("`disk`") && said.contains("read-only"), "{said}");
}

/// Nobody would notice it: a module without kernels loads.
#[test]
fn what_was_cut_off_before_its_kernel_is_not_stored_by_who_warms() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::open(ptx_disk::Config::new(folder.path().join("store"))).unwrap();
    let jit = ptxas.jit(DEVICE, JitOptions::default());
    let text = text(1);
    let cut = text.split(".visible").next().unwrap();
    let wanted = [(jit.key_of_text(cut), || Ptx::new(cut))];
    let warmed = ptxas.warm(&disk, &jit, wanted, None, |_| {});
    assert_eq!((warmed.computed, warmed.failures.len()), (0, 1), "{warmed:?}");
    let error = warmed.failures[0].1.to_string();
    assert!(
        error.contains("line 3: expected a kernel") && error.contains("lower again"),
        "{error}"
    );
    assert!(disk.keys().unwrap().is_empty());
}

/// The option is one of `ptxas`: what it says counts, and not that the driver lacks the option.
#[test]
fn a_refusal_under_options_of_ptxas_is_the_one_of_ptxas() {
    let Some(ptxas) = assembler() else { return };
    let options =
        JitOptions { named: [("fmad".to_owned(), false.into())].into(), ..JitOptions::default() };
    let context = context().with_options(options).assembled_by(&ptxas);
    let folder = tempfile::tempdir().unwrap();
    let modules = cache(&folder.path().join("store"));
    assert_eq!(load(&modules, &context, 1).unwrap(), Source::Computed);
    let text = text(1).replace("ret;", "rot;");
    let key = context.module_key_of_text(&text);
    let error = modules.get_or_load(&context, &key, || Ptx::new(text)).unwrap_err().to_string();
    assert!(error.contains("line 9") && error.contains("ptxas 1"), "{error}");
}

/// What an application ships: texts, and cubins for two devices, in one file.
#[test]
fn a_fat_bundle_gives_each_device_the_best_that_it_holds() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let lowering = PtxKey::from_bytes([5; 32]);
    let text = text(1).replace("sm_90", "sm_80");
    let factory = DiskStore::open(ptx_disk::Config::new(at("factory"))).unwrap();
    let _ =
        factory.store(&lowering, &Artifact::from(text.as_str()).with_cost(Duration::from_secs(1)));
    for device in [(8, 0), (9, 0)] {
        let device = ComputeCapability { major: device.0, minor: device.1 };
        let jit = ptxas.jit(device, JitOptions::default());
        let wanted = [(jit.key_of_lowering(&lowering), || Ptx::new(text.as_str()))];
        let warmed = ptxas.warm(&factory, &jit, wanted, None, |_| {});
        assert_eq!(warmed.computed, 1, "{warmed:?}");
    }
    assert_eq!(factory.export(&at("bundle"), "app", |_| true).unwrap(), 3);

    let serve = |major, minor, home: &str| {
        let capability = ComputeCapability { major, minor };
        let driver = RecordingDriver::with_devices(DriverVersion(13_000), &[capability]);
        let context = Context::primary(&driver, 0).unwrap();
        let context = context.with_shipped(&[ptxas.fingerprint()]);
        let layers = vec![at("bundle")];
        let config = ptx_disk::Config { layers, ..ptx_disk::Config::new(at(home)) };
        let disk = Arc::new(DiskStore::open(config).unwrap());
        let tier: Arc<dyn Store<PtxKey>> = Arc::<DiskStore>::clone(&disk);
        let texts = PtxCache::with_tiers(Config::default(), vec![tier], WritePolicy::Ignore);
        let modules = ModuleCache::new(Config::default()).with_cubins(disk);
        let never = || -> Result<String, std::fmt::Error> { panic!("the bundle has the text") };
        let served = modules.get_or_load_any(&context, &context.module_keys(&lowering), || {
            let text = texts.get_or_lower(&lowering, never);
            Ptx::of(&text.map_err(|error| CudaError::Source(Arc::new(error.into())))?.value)
        });
        let served = served.unwrap();
        served.value.function("kernel_1").unwrap();
        served.source
    };
    for (major, minor, expected) in [
        (9, 0, Source::Tier("disk".into())),
        (8, 0, Source::Tier("disk".into())),
        (8, 9, Source::Tier("disk".into())),
        (10, 0, Source::Computed),
        // What was assembled is in the user's own store.
        (10, 0, Source::Tier("disk".into())),
    ] {
        assert_eq!(serve(major, minor, "home"), expected, "{major}.{minor}");
    }
}
