//! For programs on `cudarc`: its `Ptx` in, and a `Ptx` of machine code back, which `cudarc` loads
//! without an assembly.
//!
//! `cudarc` looks for the driver when it is first called, so this builds and runs anywhere. The
//! driver is called where the program is told that there is one:
//!
//! ```text
//! PTXAS=target/tools/ptxas cargo run -p ptx-cuda --example cudarc -- gpu
//! ```

use std::error::Error;
use std::path::Path;

use cudarc::driver::CudaContext;
use ptx_cuda::{Cubin, CudaError, Ptx, Ptxas};
use ptx_key::{ComputeCapability, JitOptions};

/// A text as NVRTC or another front end returns it.
const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
";

/// Checks a text of `cudarc`. One that was made `from_binary` is
/// no text: `to_src` panics then.
fn from_cudarc(ptx: &cudarc::nvrtc::Ptx) -> Result<Ptx, CudaError> {
    Ptx::new(ptx.to_src())
}

/// Machine code for `cudarc`.
fn to_cudarc(cubin: &Cubin) -> cudarc::nvrtc::Ptx {
    cudarc::nvrtc::Ptx::from_binary(cubin.image().to_vec())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::var_os("PTXAS").ok_or("name an assembler with PTXAS")?;
    let ptxas = Ptxas::new(Path::new(&path))?;
    let text = from_cudarc(&cudarc::nvrtc::Ptx::from_src(TEXT))?;
    let device = ComputeCapability { major: 9, minor: 0 };
    // A program keeps the cubin under this key, in a store such as `ptx_disk::DiskStore`.
    let key = ptxas.jit(device, JitOptions::default()).key_of_text(text.text());
    let cubin = ptxas.assemble(&text, device, &JitOptions::default())?.cubin;
    println!("{cubin:?} of {:?} under {key:.12}", cubin.kernels());
    if std::env::args().any(|argument| argument == "gpu") {
        let module = CudaContext::new(0)?.load_module(to_cudarc(&cubin))?;
        let function = module.load_function("nothing")?;
        println!("cudarc has loaded {function:?}");
    }
    Ok(())
}
