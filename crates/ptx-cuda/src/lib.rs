//! Loaded CUDA modules: PTX text or cubin in, ready function out.
//!
//! PTX text is half of a kernel; the driver's assembly to machine code is the other half, paid
//! when a module is loaded. This crate loads each module once, keeps it as long as someone uses
//! it, keeps its machine code for the next process, and says in plain words why a text was
//! refused: the line, the kernel, and what to do.
//!
//! ```
//! use ptx_cuda::{Config, Context, ModuleCache, Ptx, RecordingDriver};
//!
//! // With the feature `cuda`: CustDriver::new()?
//! let driver = RecordingDriver::new();
//! let context = Context::primary(&driver, 0)?;
//! let modules = ModuleCache::new(Config::default());
//!
//! let text = ".version 9.0\n.target sm_90a\n.visible .entry saxpy() { ret; }\n";
//! let key = context.module_key_of_text(text);
//! let module = modules.get_or_load(&context, &key, || Ptx::new(text))?;
//! let saxpy = module.function("saxpy")?;
//! assert!(module.global("grid_barrier")?.is_none());
//!
//! // A driver of CUDA 13.0 knows PTX ISA 9.0.
//! let late = Ptx::new(text.replace("9.0", "99.0"))?;
//! let error = context.load(&late.into()).unwrap_err().to_string();
//! assert!(error.contains("line 1") && error.contains("lower for PTX ISA 9.0"), "{error}");
//! # drop(saxpy);
//! # Ok::<(), ptx_cuda::CudaError>(())
//! ```
//!
//! # Where a module comes from
//!
//! 1. Memory, if it is resident: [`ModuleCache::with`] and [`ModuleCache::get`] are for launches.
//! 2. A store of cubins, if there is one ([`ModuleCache::with_cubins`]; `ptx_disk::DiskStore` is
//!    one): under the module's own key, or as a cubin that was shipped ([`ModuleKeys`]). What the
//!    driver refuses is dropped from the store and no verdict on the module.
//! 3. The text, assembled by the driver's linker or by `ptxas` ([`Context::assembled_by`]), once
//!    for all threads and processes, and stored when it is loaded.
//! 4. Where the driver does not know the text's instruction set: `ptxas`
//!    ([`ModuleCache::with_ptxas`]), or the text lowered again ([`ModuleCache::serve_lowered`]).
//!
//! [`ModuleCache::warm`] and [`Ptxas::warm`] do it for many before the first launch.
//!
//! # With a GPU
//!
//! The feature `cuda` adds `CustDriver`, the driver behind [`cust`](https://docs.rs/cust). A
//! function is launched on a `cust` stream through `LaunchStream`, by `cust::launch!` or by its
//! own method, and run to its end on bytes by `Function::run`:
//!
#![cfg_attr(feature = "cuda", doc = "```no_run")]
#![cfg_attr(not(feature = "cuda"), doc = "```ignore")]
//! use ptx_cuda::cust::{self, memory::DeviceBuffer, stream::{Stream, StreamFlags}};
//! use ptx_cuda::{Context, CustDriver, LaunchStream, Ptx};
//!
//! # fn f(text: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::primary(&CustDriver::new()?, 0)?;
//! let fill = context.load(&Ptx::new(text)?.into())?.function("fill")?;
//!
//! let _current = context.enter()?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//! let buffer = DeviceBuffer::from_slice(&[0_u32; 256])?;
//! let launcher = LaunchStream(&stream);
//! // SAFETY: `fill` takes one pointer, to 256 numbers, which live until the stream is done.
//! unsafe { cust::launch!(fill<<<1, 256, 0, launcher>>>(buffer.as_device_ptr())) }?;
//! stream.synchronize()?;
//! # Ok(()) }
//! ```
//!
//! `cust` links `libcuda`. A program with this feature does not start on a machine that has no
//! driver (the loader says that `libcuda.so.1` is missing), and to build it needs a CUDA toolkit,
//! or a stub library by the variable `CUDA_LIBRARY_PATH` (`cargo xtask gpu-bundle` makes one).
//! Programs for machines with and without a GPU are therefore built twice, with the feature and
//! without it. All else works without it: the [`RecordingDriver`] for tests, and [`Ptxas`], which
//! assembles on machines without a GPU.
//!
//! # What it does not do
//!
//! * It does not check what a kernel does on the device. PTX is code: load what you would link.
//! * It does not know what a launch or a captured graph uses: keep the [`Function`] until the
//!   launch is done, or as long as the graph.
//! * It does no input or output for cubins: a store of `ptx-disk` or another [`CubinStore`] does.
//! * It does not choose a store: without one, texts are assembled anew in each process.
//!
//! # Costs
//!
//! A resident module costs one lock-free lookup. Loading costs what the driver takes: tens of
//! microseconds for a cubin, milliseconds to seconds for PTX text. To unload may wait for the
//! device: modules of a cache are unloaded by its next load or on request, and by a load or lookup
//! that ran out of memory, never by a launch.
//!
//! # Dependencies
//!
//! `ptx-cache` holds the modules and says what a store of cubins is, `ptx-key` names them; `cust`
//! talks to the driver; `elf` reads the headers of cubins; `arc-swap` and `ahash` hold the names
//! that were looked up; `scopeguard` hands a module over to be unloaded; `crossbeam-epoch` says
//! whether a cache's hit is under way, and has what was retired dropped; `tempfile` holds what
//! `ptxas` reads and writes; `thiserror` derives the error type; `tracing` tells of loads and of
//! unloads that failed.

mod code;
mod context;
mod cubin;
mod cubin_writer;
mod cubins;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod cust_driver;
mod driver;
mod driver_build;
mod error;
mod jit_log;
mod jit_options;
mod loader;
mod lookups;
mod module_cache;
mod module_keys;
mod modules;
mod ptx;
mod ptxas;
mod recording;
mod refused;
mod residents;
mod tokens;
mod unload_queue;
mod warm;

pub use code::{DriverCode, DriverVersion};
pub use context::Context;
pub use cubin::Cubin;
pub use cubins::CubinSnapshot;
#[cfg(feature = "cuda")]
pub use cuda::{Argument, CustContext, CustDriver, Entered};
/// So that a program launches with the same `cust` as this crate.
#[cfg(feature = "cuda")]
pub use cust;
#[cfg(feature = "cuda")]
pub use cust_driver::{CustFunction, CustModule, LaunchStream};
pub use driver::{
    Assembled, ContextId, DeviceFacts, DevicePointer, Driver, Failure, Global, Image, Loaded,
};
pub use driver_build::DriverBuild;
pub use error::CudaError;
pub use jit_log::{Diagnostic, JitLog, Severity};
pub use module_cache::{ModuleCache, ModuleSnapshot, ModuleSource, ServedModule};
pub use module_keys::ModuleKeys;
pub use modules::{Function, Module};
pub use ptx::{Ptx, PtxHeader};
pub use ptx_cache::{Budget, Config, CubinStore, EntryReport, Snapshot};
pub use ptxas::Ptxas;
pub use recording::{
    Call, Operation, RecordedContext, RecordedFunction, RecordedModule, RecordingDriver,
};
pub use refused::{Reason, Refused};
pub use residents::ResidentKey;
pub use warm::{WarmProgress, Warmed};
