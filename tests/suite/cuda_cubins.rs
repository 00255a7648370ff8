//! Cubins on a real disk: assembled once for all processes, loaded by the next, made again where
//! they are damaged, and made offline where the driver is too old.

use std::path::Path;
use std::sync::Arc;

use ptx_cuda::{
    Config, Context, CubinStore, CudaError, DriverVersion, ModuleCache, ModuleSource, Ptx,
    Ptxas as Assembler, RecordingDriver,
};
use ptx_disk::DiskStore;
use ptx_key::ComputeCapability;
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
    let store: Arc<dyn CubinStore> = Arc::new(disk);
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
) -> Result<ModuleSource, CudaError> {
    let text = text(number);
    let key = context.module_key_of_text(&text);
    let served = modules.serve(context, &key, || Ptx::new(text))?;
    served.module.function(&format!("kernel_{number}"))?;
    Ok(served.source)
}

fn assembler() -> Option<Arc<Assembler>> {
    Some(Arc::new(Assembler::new(Ptxas::find()?.path()).unwrap()))
}

#[test]
fn a_damaged_cubin_is_assembled_again() {
    let folder = tempfile::tempdir().unwrap();
    let (root, context) = (folder.path().join("store"), context());
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), ModuleSource::Assembled);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), ModuleSource::Cubin);
    let key = context.module_key_of_text(&text(1)).to_string();
    let folder = root.join(format!("entries-1/{key:.2}"));
    let entry = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&entry).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&entry, bytes).unwrap();
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), ModuleSource::Assembled);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), ModuleSource::Cubin);
}

#[test]
fn a_whole_entry_that_the_driver_refuses_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (root, context) = (folder.path().join("store"), context());
    let key = context.module_key_of_text(&text(1));
    let disk = DiskStore::open(ptx_disk::Config::new(&root)).unwrap();
    let _ = disk.store(key, &ptx_disk::Entry::cubin(*b"no cubin", std::time::Duration::ZERO));
    let modules = cache(&root);
    assert_eq!(load(&modules, &context, 1).unwrap(), ModuleSource::Assembled);
    assert_eq!(modules.snapshot().cubins.refused, 1);
    drop(modules);
    assert_eq!(load(&cache(&root), &context, 1).unwrap(), ModuleSource::Cubin);
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
fn what_ptxas_assembled_is_loaded_in_the_next_life() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    for expected in [ModuleSource::Assembled, ModuleSource::Cubin] {
        let context = context().assembled_by(&ptxas);
        assert_eq!(load(&cache(&root), &context, 1).unwrap(), expected);
    }
    // The driver's own are under other keys.
    assert_eq!(load(&cache(&root), &context(), 1).unwrap(), ModuleSource::Assembled);
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
    let served = modules.serve(&context, &key, || Ptx::new(text)).unwrap();
    assert_eq!(served.source, ModuleSource::Given);
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
    for expected in [ModuleSource::Assembled, ModuleSource::Cubin] {
        let modules = cache(&root).with_ptxas(Arc::clone(&ptxas));
        assert_eq!(load(&modules, &context, 1).unwrap(), expected);
        assert_eq!(modules.snapshot().cubins.rescued, 1);
    }
}
