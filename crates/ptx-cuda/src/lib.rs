//! Loaded CUDA modules: PTX text or cubin in, ready function out.
//!
//! A kernel costs twice: the back end lowers it to PTX text, and the driver assembles the text to
//! machine code when it loads a module. This crate loads each module once, keeps it as long as
//! someone uses it, and stores its machine code for the next process. Where an assembler refuses a
//! text, it names the line, the kernel, and what to do.
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
//!    one): under the module's own key, or as a shipped cubin ([`ModuleKeys`]). A stored cubin that
//!    the driver refuses is removed, and the next source is tried.
//! 3. The text, assembled by the driver's linker or by `ptxas` ([`Context::assembled_by`]), once
//!    for all threads and processes, and stored after the load.
//! 4. Where the driver does not know the text's instruction set: `ptxas`
//!    ([`ModuleCache::with_ptxas`]), or the text lowered again ([`ModuleCache::get_or_lower`]).
//!
//! [`ModuleCache::warm`] and [`Ptxas::warm`] load or assemble many modules before the first launch.
//!
//! # With a GPU
//!
//! The feature `cuda` adds `CustDriver`, which uses [`cust`](https://docs.rs/cust). `LaunchStream`
//! launches a function on a `cust` stream, by `cust::launch!` or by its own method. `Function::run`
//! runs a function to its end on bytes:
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
//! `cust` links `libcuda`. A program with this feature does not start on a machine without a driver
//! (the loader reports that `libcuda.so.1` is missing). Its build needs a CUDA toolkit, or a stub
//! library in the variable `CUDA_LIBRARY_PATH` (`cargo xtask gpu-bundle` makes one). So build a
//! program for machines with and without a GPU twice, with the feature and without it. Without it,
//! [`RecordingDriver`] serves tests, and [`Ptxas`] assembles on machines without a GPU.
//!
//! # What it does not do
//!
//! * It does not check what a kernel does on the device. PTX is code: load only what you would
//!   link.
//! * It does not know what a launch or a captured graph uses: keep the [`Function`] until the
//!   launch is done, or as long as the graph.
//! * It reads and writes no files of cubins: a [`Store`] such as `ptx-disk` does.
//! * It does not choose a store: without one, each process assembles texts again.
//!
//! # Costs
//!
//! A resident module costs one lock-free lookup. A load costs what the driver takes: tens of
//! microseconds for a cubin, milliseconds to seconds for PTX text. An unload may wait for the
//! device: only the next load, a request, and a load or lookup that ran out of memory unload, never
//! a launch.
//!
//! # Dependencies
//!
//! `ptx-cache` keeps the modules and defines the store of cubins; `ptx-key` names them; `cust`
//! calls the driver; `elf` reads the headers of cubins; `arc-swap` and `ahash` keep the symbols
//! that were looked up; `scopeguard` queues a module to be unloaded; `crossbeam-epoch` tells
//! whether a hit is under way, and drops retired modules; `tempfile` holds the files of `ptxas`;
//! `thiserror` derives the error type; `tracing` reports loads and failed unloads.

mod assemble;
mod context;
mod driver;
mod error;
mod modules;

pub use assemble::{Cubin, JitLog, Ptx, PtxHeader, Ptxas, Reason, Refused};
pub use context::Context;
/// For programs that must launch with the same `cust` as this crate.
#[cfg(feature = "cuda")]
pub use cust;
#[cfg(feature = "cuda")]
pub use driver::{
    Argument, CustContext, CustDriver, CustFunction, CustModule, Entered, LaunchStream,
};
pub use driver::{
    Assembled, Call, ContextId, DeviceFacts, DevicePointer, Driver, DriverBuild, DriverCode,
    DriverVersion, Failure, Global, Image, Loaded, Operation, RecordedContext, RecordedFunction,
    RecordedModule, RecordingDriver,
};
pub use error::CudaError;
pub use modules::{
    CubinSnapshot, Function, Module, ModuleCache, ModuleKeys, ModuleSnapshot, ResidentKey,
    WarmProgress, Warmed,
};
pub use ptx_cache::{Config, EntryReport, Served, Size, Snapshot, Source, Store};

/// Tests the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
