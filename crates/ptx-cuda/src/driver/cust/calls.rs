//! Calls of the driver that `cust` lacks, beside those on modules.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use cust::context::{ContextHandle, legacy};
use cust::device::Device;
use cust::sys::{CUcontext, CUfunction};

use super::declarations::{self as sys, Status};
use crate::{CudaError, DriverCode, DriverVersion};

/// Functions of drivers from CUDA 12.0 on. They are looked up at run time: a program that links
/// them does not start with an older driver.
pub(super) struct Newer {
    pub(super) context_id: Option<unsafe extern "C" fn(CUcontext, *mut u64) -> Status>,
    pub(super) parameter:
        Option<unsafe extern "C" fn(CUfunction, usize, *mut usize, *mut usize) -> Status>,
}

pub(super) fn newer() -> &'static Newer {
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

/// Starts the driver, and returns its version.
pub(super) fn init() -> Result<DriverVersion, CudaError> {
    sys::cuInit(0).check("cuInit")?;
    let mut version = 0;
    // SAFETY: the driver writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.check("cuDriverGetVersion")?;
    Ok(DriverVersion(version.unsigned_abs()))
}

/// A context that this process created.
pub(super) struct OwnContext(pub(super) legacy::Context);

// SAFETY: the driver takes a context from any thread (CUDA Driver API, "Context Management"). It
// is made current by the thread that uses it, and destroyed by the one that drops the last user.
unsafe impl Send for OwnContext {}
// SAFETY: as above; no method changes the value.
unsafe impl Sync for OwnContext {}

/// The driver's number of a context, which no other context gets. Returns `None` where the driver
/// is too old to have one.
pub(super) fn context_number(context: &impl ContextHandle) -> Option<Result<u64, CudaError>> {
    let get = newer().context_id?;
    let mut number = 0;
    // SAFETY: the driver writes one number. For a context that was destroyed it returns
    // an error (CUDA Driver API, cuCtxGetId).
    let status = unsafe { get(context.get_inner(), &raw mut number) };
    Some(status.check("cuCtxGetId").map(|()| number))
}

/// Returns true if a device's primary context is active. A reset ends it for all who retain it.
pub(super) fn primary_is_active(device: Device) -> bool {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the driver writes one number at each address.
    let status = unsafe {
        sys::cuDevicePrimaryCtxGetState(device.as_raw(), &raw mut flags, &raw mut active)
    };
    status.check("cuDevicePrimaryCtxGetState").is_err() || active != 0
}

/// Until it drops, this thread may load and unload while another thread captures a stream in global
/// mode. Neither call is part of a capture.
pub(super) struct OutsideCapture(c_uint);

impl OutsideCapture {
    const RELAXED: c_uint = 2;

    pub(super) fn new() -> Self {
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

/// An error of `cust` as this crate's own.
pub(super) fn cust_error(call: &'static str, error: cust::error::CudaError) -> CudaError {
    CudaError::Driver { call, code: DriverCode(error as u32) }
}
