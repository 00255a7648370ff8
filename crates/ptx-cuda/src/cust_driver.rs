//! The CUDA driver's C interface, as far as this crate needs it beside `cust`. All unsafe code of
//! the crate is in this file; the functions are declared beside it.
//!
//! `cust` keeps contexts, buffers and streams. It is not asked to load modules: it hides the JIT
//! log and the code of a refusal, and its `CUresult` is a Rust enum, of which a code that it does
//! not list (a newer driver returns such) is undefined behaviour. So the functions are declared
//! once more, with a result that holds any number.
//!
//! What makes the calls sound stands with the types:
//!
//! * `LiveContext`: its context is retained or owned until it drops.
//! * [`CustModule`]: its module is loaded, and keeps its context. [`unload`] takes it by value.
//! * [`CustFunction`]: a number. Only `Function<CustDriver>`, which keeps the module, is
//!   launched by safe code.

#![allow(unsafe_code, reason = "the driver's interface is C, and is called in this file alone")]

mod declarations;

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::OnceLock;

use cust::context::{ContextHandle, legacy};
use cust::device::Device;
use cust::function::{BlockSize, GridSize};
use cust::stream::Stream;
use cust::sys::{CUcontext, CUfunction, CUmodule};
use ptx_key::JitOptions;

use self::declarations::{self as sys, Status};
use crate::cuda::{RawOptions, cust_error};
use crate::{
    CudaError, CustContext, CustDriver, DevicePointer, DriverCode, DriverVersion, Failure,
    Function, Global, Image, JitLog, Loaded, Ptx,
};

/// Functions of drivers from 12.0 on, looked up when first needed: a program that links them does
/// not start with an older driver.
struct Newer {
    context_id: Option<unsafe extern "C" fn(CUcontext, *mut u64) -> Status>,
    parameter: Option<unsafe extern "C" fn(CUfunction, usize, *mut usize, *mut usize) -> Status>,
}

fn newer() -> &'static Newer {
    static NEWER: OnceLock<Newer> = OnceLock::new();
    NEWER.get_or_init(|| {
        let context_id = address(c"cuCtxGetId", 12_000);
        let parameter = address(c"cuFuncGetParamInfo", 12_040);
        Newer {
            // SAFETY: the driver's function of this name and version has this type (cuda.h 12.0);
            // null, where it has none, is `None`.
            context_id: unsafe { std::mem::transmute::<*mut c_void, Option<_>>(context_id) },
            // SAFETY: as above (cuda.h 12.4).
            parameter: unsafe { std::mem::transmute::<*mut c_void, Option<_>>(parameter) },
        }
    })
}

fn address(symbol: &CStr, version: c_int) -> *mut c_void {
    let mut function = null_mut();
    // SAFETY: the symbol ends with NUL, and the driver writes one pointer.
    let status = unsafe { sys::cuGetProcAddress(symbol.as_ptr(), &raw mut function, version, 0) };
    if status.0 == 0 { function } else { null_mut() }
}

/// Starts the driver; its version.
pub(crate) fn init() -> Result<DriverVersion, CudaError> {
    sys::cuInit(0).check("cuInit")?;
    let mut version = 0;
    // SAFETY: the driver writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.check("cuDriverGetVersion")?;
    Ok(DriverVersion(version.unsigned_abs()))
}

/// A context that this process made.
pub(crate) struct OwnContext(pub(crate) legacy::Context);

// SAFETY: the driver takes a context from any thread (CUDA Driver API, "Context Management"). It
// is made current by the thread that uses it, and destroyed by the one that drops the last user.
unsafe impl Send for OwnContext {}
// SAFETY: as above; no method changes the value.
unsafe impl Sync for OwnContext {}

/// The driver's number of a context, which no other context gets; `None` from a driver that is
/// too old to give one.
pub(crate) fn context_number(context: &impl ContextHandle) -> Option<Result<u64, CudaError>> {
    let get = newer().context_id?;
    let mut number = 0;
    // SAFETY: the driver writes one number. A context that was destroyed is no danger: the driver
    // says so (CUDA Driver API, cuCtxGetId).
    let status = unsafe { get(context.get_inner(), &raw mut number) };
    Some(status.check("cuCtxGetId").map(|()| number))
}

/// Whether a device's primary context is there; a reset ends it for all who retain it.
pub(crate) fn primary_is_active(device: Device) -> bool {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the driver writes one number at each address.
    let status = unsafe {
        sys::cuDevicePrimaryCtxGetState(device.as_raw(), &raw mut flags, &raw mut active)
    };
    status.check("cuDevicePrimaryCtxGetState").is_err() || active != 0
}

/// Lets this thread load and unload while another thread captures a stream in global mode, until
/// it drops. Neither call is part of a capture.
struct OutsideCapture(c_uint);

impl OutsideCapture {
    const RELAXED: c_uint = 2;

    fn new() -> Self {
        let mut mode = Self::RELAXED;
        // SAFETY: the driver reads and writes one number.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
        Self(mode)
    }
}

impl Drop for OutsideCapture {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut self.0) };
    }
}

/// A loaded module. It stays loaded until [`Driver::unload`](crate::Driver::unload) takes it, or
/// its context ends.
pub struct CustModule {
    raw: CUmodule,
    context: CustContext,
}

// SAFETY: the driver takes a module from any thread that has its context current, and every call
// here enters that context first.
unsafe impl Send for CustModule {}
// SAFETY: as above; the driver locks what its calls share.
unsafe impl Sync for CustModule {}

impl fmt::Debug for CustModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustModule").field(&self.raw).finish()
    }
}

impl CustModule {
    /// The driver's handle. It is valid while the module is loaded.
    pub fn as_raw(&self) -> CUmodule {
        self.raw
    }
}

pub(crate) fn load(
    context: &CustContext,
    image: &Image,
    options: &JitOptions,
) -> Result<Loaded<CustModule>, Failure> {
    let text;
    let image: *const c_void = match image {
        Image::Ptx(ptx) => {
            text = ptx.terminated()?;
            text.as_ptr().cast()
        }
        Image::Cubin(cubin) => cubin.image().as_ptr().cast(),
    };
    let _entered = context.live().enter()?;
    let _outside = OutsideCapture::new();
    let mut raw = null_mut();
    let mut options = RawOptions::new(options);
    let (count, names, values) =
        (options.count(), options.names.as_mut_ptr(), options.values.as_mut_ptr());
    // SAFETY: the image is PTX text that ends with NUL, or a cubin whose sections lie within it
    // (see `Cubin`); the driver reads no further. Names and values are `count` each, and the logs
    // that they name are as long as they say and outlive the call.
    let status = unsafe { sys::cuModuleLoadDataEx(&raw mut raw, image, count, names, values) };
    let log = options.into_log();
    if status.0 != 0 {
        return Err(Failure::Judged { code: DriverCode(status.0), log });
    }
    Ok(Loaded { module: CustModule { raw, context: context.clone() }, log })
}

pub(crate) fn function(
    module: &CustModule,
    name: &CStr,
) -> Result<Option<CustFunction>, CudaError> {
    let _entered = module.context.live().enter()?;
    let _outside = OutsideCapture::new();
    let mut function = null_mut();
    // SAFETY: the module is loaded: see `CustModule`. The name ends with NUL.
    let status = unsafe { sys::cuModuleGetFunction(&raw mut function, module.raw, name.as_ptr()) };
    found(&status, "cuModuleGetFunction", CustFunction(function))
}

pub(crate) fn global(module: &CustModule, name: &CStr) -> Result<Option<Global>, CudaError> {
    let _entered = module.context.live().enter()?;
    let _outside = OutsideCapture::new();
    let (mut pointer, mut bytes) = (0, 0_usize);
    // SAFETY: as in `function`; the driver writes one number at each address.
    let status = unsafe {
        sys::cuModuleGetGlobal_v2(&raw mut pointer, &raw mut bytes, module.raw, name.as_ptr())
    };
    let global = Global { pointer: DevicePointer(pointer), bytes: bytes as u64 };
    found(&status, "cuModuleGetGlobal", global)
}

fn found<T>(status: &Status, call: &'static str, value: T) -> Result<Option<T>, CudaError> {
    match DriverCode(status.0) {
        DriverCode::NOT_FOUND => Ok(None),
        _ => status.check(call).map(|()| Some(value)),
    }
}

pub(crate) fn unload(module: CustModule) -> Result<(), CudaError> {
    let CustModule { raw, context } = module;
    let _entered = context.live().enter()?;
    let _outside = OutsideCapture::new();
    // SAFETY: the module is loaded (see `CustModule`), and this was its last use: it came by
    // value, and what is launched keeps it.
    unsafe { sys::cuModuleUnload(raw) }.check("cuModuleUnload")
}

/// Assembles a text with the driver's linker; the machine code and the log.
pub(crate) fn assemble(
    context: &CustContext,
    ptx: &Ptx,
    options: &JitOptions,
) -> Result<(Vec<u8>, JitLog), Failure> {
    let text = ptx.terminated()?;
    let _entered = context.live().enter()?;
    let _outside = OutsideCapture::new();
    let mut options = RawOptions::new(options);
    let image = link(&text, &mut options);
    let log = options.into_log();
    match image {
        Ok(image) => Ok((image, log)),
        Err(code) => Err(Failure::Judged { code, log }),
    }
}

/// The driver writes to the logs of `options` until the link state is destroyed, which is before
/// this returns.
fn link(text: &CStr, options: &mut RawOptions) -> Result<Vec<u8>, DriverCode> {
    const PTX: c_uint = 1;
    let done = |status: Status| if status.0 == 0 { Ok(()) } else { Err(DriverCode(status.0)) };
    let mut state = null_mut();
    let (count, names, values) =
        (options.count(), options.names.as_mut_ptr(), options.values.as_mut_ptr());
    // SAFETY: names and values are `count` each, and they and their logs outlive the link state.
    done(unsafe { sys::cuLinkCreate_v2(count, names, values, &raw mut state) })?;
    let state = scopeguard::guard(state, |state| {
        // SAFETY: the state was created above and is destroyed here alone.
        let _ = unsafe { sys::cuLinkDestroy(state) };
    });
    let bytes = text.to_bytes_with_nul();
    let data = bytes.as_ptr().cast_mut().cast();
    let name = c"module.ptx".as_ptr();
    // SAFETY: the driver reads `bytes.len()` bytes, NUL included, and writes none; no options.
    done(unsafe {
        sys::cuLinkAddData_v2(*state, PTX, data, bytes.len(), name, 0, null_mut(), null_mut())
    })?;
    let (mut image, mut length) = (null_mut(), 0_usize);
    // SAFETY: the driver writes one pointer and one number.
    done(unsafe { sys::cuLinkComplete(*state, &raw mut image, &raw mut length) })?;
    if image.is_null() {
        return Err(DriverCode::UNKNOWN);
    }
    // SAFETY: the image is `length` bytes that belong to the link state, which is still there.
    let image = unsafe { std::slice::from_raw_parts(image.cast::<u8>().cast_const(), length) };
    Ok(image.to_vec())
}

/// A function of a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustFunction(CUfunction);

// SAFETY: a number to all but the driver, which takes a function from any thread.
unsafe impl Send for CustFunction {}
// SAFETY: as above.
unsafe impl Sync for CustFunction {}

impl CustFunction {
    /// The driver's handle. It is valid while the module is loaded.
    pub fn as_raw(self) -> CUfunction {
        self.0
    }
}

/// Bytes of each of a kernel's parameters, in order.
///
/// # Errors
///
/// [`CudaError::Driver`], with [`DriverCode::NOT_SUPPORTED`] from a driver before CUDA 12.4.
pub(crate) fn parameters(function: &Function<CustDriver>) -> Result<Vec<usize>, CudaError> {
    const CALL: &str = "cuFuncGetParamInfo";
    let Some(parameter) = newer().parameter else {
        return Err(CudaError::Driver { call: CALL, code: DriverCode::NOT_SUPPORTED });
    };
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the function's module is loaded, since `function` keeps it; the driver writes
        // one number at each address.
        let status =
            unsafe { parameter(function.raw().0, sizes.len(), &raw mut offset, &raw mut bytes) };
        match DriverCode(status.0) {
            // There is no parameter of this number.
            DriverCode::INVALID_VALUE => return Ok(sizes),
            _ => status.check(CALL)?,
        }
        sizes.push(bytes);
    }
}

/// Launches a kernel with these bytes as its parameters and waits for it.
///
/// The parameters are compared with those of the kernel first, so the driver reads nothing else
/// of this process's memory. What the kernel does to the device's memory is the kernel's affair,
/// as with any program that is run: PTX that is not trusted must not be launched.
pub(crate) fn launch_and_wait(
    function: &Function<CustDriver>,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: &Stream,
    values: &mut [Vec<u8>],
) -> Result<(), CudaError> {
    let expected = parameters(function)?;
    let found: Vec<usize> = values.iter().map(Vec::len).collect();
    if found != expected {
        return Err(CudaError::Arguments {
            kernel: function.name().to_owned(),
            expected: format!("parameters of {expected:?} bytes"),
            found: format!("{found:?}"),
        });
    }
    let arguments: Vec<*mut c_void> =
        values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
    let launcher = LaunchStream(stream);
    let (grid, block) = (<(u32, u32, u32)>::from(grid), <(u32, u32, u32)>::from(block));
    // SAFETY: the arguments are as many and as long as the kernel's parameters; it keeps its
    // module until the stream has been waited for below.
    unsafe { launcher.launch(function, grid, block, shared_bytes, &arguments) }?;
    stream.synchronize().map_err(|error| cust_error("cuStreamSynchronize", error))
}

/// A stream that launches [`Function`]s, also through `cust::launch!`: see the crate's front page.
#[derive(Clone, Copy, Debug)]
pub struct LaunchStream<'s>(pub &'s Stream);

impl LaunchStream<'_> {
    /// Launches a kernel on the stream. It runs on after this returns.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the launch is refused, or where a launch before it failed.
    ///
    /// # Safety
    ///
    /// * `arguments` point to as many values as the kernel has parameters, each of the
    ///   parameter's type.
    /// * The function, and what the kernel reads and writes, are there for it, and are not touched
    ///   by others, until it is done.
    /// * The stream is of the function's context, and that context is current.
    pub unsafe fn launch(
        &self,
        function: &Function<CustDriver>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_bytes: u32,
        arguments: &[*mut c_void],
    ) -> Result<(), CudaError> {
        let (grid, block) = (grid.into(), block.into());
        let (stream, values) = (self.0.as_inner(), arguments.as_ptr().cast_mut());
        // SAFETY: the caller answers for the arguments; the function's module is loaded, since
        // `function` keeps it; the driver reads the pointers and writes none.
        let status = unsafe {
            sys::cuLaunchKernel(
                function.raw().0,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                stream,
                values,
                null_mut(),
            )
        };
        status.check("cuLaunchKernel")
    }
}
