//! Modules of the driver: loaded, looked into, unloaded, and linked from texts.

use std::ffi::{CStr, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;

use cust::sys::{CUfunction, CUmodule};
use ptx_key::JitOptions;

use super::calls::OutsideCapture;
use super::context::CustContext;
use super::declarations::{self as sys, Status};
use super::options::RawOptions;
use crate::{CudaError, DevicePointer, DriverCode, Failure, Global, Image, JitLog, Loaded, Ptx};

/// A module that the driver loaded. It stays loaded until
/// [`Driver::unload`](crate::Driver::unload) takes it, or its context ends.
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
    /// The driver's handle, valid while the module is loaded.
    pub fn as_raw(&self) -> CUmodule {
        self.raw
    }
}

pub(super) fn load(
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

pub(super) fn function(
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

pub(super) fn global(module: &CustModule, name: &CStr) -> Result<Option<Global>, CudaError> {
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

/// `value`, or `None` where the driver found no symbol.
fn found<T>(status: &Status, call: &'static str, value: T) -> Result<Option<T>, CudaError> {
    match DriverCode(status.0) {
        DriverCode::NOT_FOUND => Ok(None),
        _ => status.check(call).map(|()| Some(value)),
    }
}

pub(super) fn unload(module: CustModule) -> Result<(), CudaError> {
    let CustModule { raw, context } = module;
    let _entered = context.live().enter()?;
    let _outside = OutsideCapture::new();
    // SAFETY: the module is loaded (see `CustModule`), and this is its last use: it came by
    // value, and a launch keeps it.
    unsafe { sys::cuModuleUnload(raw) }.check("cuModuleUnload")
}

/// Assembles a text with the driver's linker. Returns the machine code and the log.
pub(super) fn assemble(
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

/// The driver writes to the logs of `options` until the link state is destroyed, before this
/// returns.
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
pub struct CustFunction(pub(super) CUfunction);

// SAFETY: only the driver reads the handle, and it takes a function from any thread.
unsafe impl Send for CustFunction {}
// SAFETY: as above.
unsafe impl Sync for CustFunction {}

impl CustFunction {
    /// The driver's handle, valid while the module is loaded.
    pub fn as_raw(self) -> CUfunction {
        self.0
    }
}
