//! Assembly on a machine without a GPU, by the real `ptxas`.

use std::io::Write as _;
use std::path::Path;

use ptx_cuda::{Cubin, CudaError, Ptx, Ptxas as Assembler};
use ptx_ir::{lower, reference};
use ptx_key::{ComputeCapability, JitOptions};
use ptx_tests::Ptxas;

use crate::cuda_stack::configuration;

const DEVICE: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

fn assembler() -> Option<Assembler> {
    Some(Assembler::new(Ptxas::find()?.path()).unwrap())
}

fn saxpy(target: &str) -> Ptx {
    let references = reference::all().unwrap();
    Ptx::new(lower(&references[0].kernel, &configuration(target, true)).unwrap()).unwrap()
}

#[test]
fn a_text_for_an_older_base_target_is_assembled_for_the_device() {
    let Some(ptxas) = assembler() else { return };
    for (target, device, architecture) in [
        ("sm_90a", (9, 0), "sm_90"),
        ("sm_80", (9, 0), "sm_90"),
        ("sm_100f", (10, 3), "sm_103"),
        ("sm_90", (12, 0), "sm_120"),
    ] {
        let device = ComputeCapability { major: device.0, minor: device.1 };
        let assembled = ptxas.assemble(&saxpy(target), device, &JitOptions::default()).unwrap();
        assert_eq!(assembled.cubin.architecture(), architecture, "{target}");
        assert!(assembled.cubin.device_bytes() > 0);
        assert!(assembled.cubin.device_bytes() < assembled.cubin.image().len() as u64);
    }
}

#[test]
fn the_same_text_makes_the_same_cubin() {
    let Some(ptxas) = assembler() else { return };
    let assemble = || ptxas.assemble(&saxpy("sm_90"), DEVICE, &JitOptions::default()).unwrap();
    assert_eq!(assemble().cubin, assemble().cubin);
}

#[test]
fn options_reach_the_tool_and_its_words_come_back() {
    let Some(ptxas) = assembler() else { return };
    let options =
        JitOptions { named: [("verbose".to_owned(), "".into())].into(), ..JitOptions::default() };
    let assembled = ptxas.assemble(&saxpy("sm_90"), DEVICE, &options).unwrap();
    assert!(assembled.log.text().contains("registers"), "{}", assembled.log);
    let plain = ptxas.assemble(&saxpy("sm_90"), DEVICE, &JitOptions::default()).unwrap();
    let debug = JitOptions { debug_info: true, ..JitOptions::default() };
    let debug = ptxas.assemble(&saxpy("sm_90"), DEVICE, &debug).unwrap();
    assert_ne!(plain.cubin, debug.cubin);
}

#[test]
fn a_cubin_that_was_cut_off_anywhere_is_refused() {
    let Some(ptxas) = assembler() else { return };
    let whole = ptxas.assemble(&saxpy("sm_90"), DEVICE, &JitOptions::default()).unwrap();
    let image = whole.cubin.image();
    for length in 0..image.len() {
        let error = Cubin::new(&image[..length]).unwrap_err();
        assert!(matches!(error, CudaError::NotCubin { .. }), "{length}: {error}");
    }
    assert_eq!(Cubin::new(image.clone()).unwrap(), whole.cubin);
}

#[test]
fn another_tool_is_another_key() {
    let Some(ptxas) = assembler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("ptxas");
    std::fs::copy(Ptxas::find().unwrap().path(), &copy).unwrap();
    let key = |ptxas: &Assembler| ptxas.jit(DEVICE, JitOptions::default()).key_of_text("text");
    // Where the tool lies does not count.
    assert_eq!(key(&Assembler::new(&copy).unwrap()), key(&ptxas));
    let mut file = std::fs::OpenOptions::new().append(true).open(&copy).unwrap();
    file.write_all(b"\0").unwrap();
    drop(file);
    assert_ne!(key(&Assembler::new(&copy).unwrap()), key(&ptxas));
}

#[test]
fn what_is_no_ptxas_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    for path in [Path::new("no/such/ptxas"), &plain] {
        let error = Assembler::new(path).unwrap_err();
        assert!(matches!(error, CudaError::Tool { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains(&path.display().to_string()) && said.contains("PyPI"), "{said}");
    }
}
