//! The driver's C functions, as `cuda.h` declares them.

#![allow(non_snake_case, reason = "the names are the driver's")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use cust::sys::{CUfunction, CUlinkState, CUmodule, CUstream};

use crate::{CudaError, DriverCode};

/// `CUresult`: any number.
#[repr(transparent)]
pub(super) struct Status(pub(super) c_uint);

impl Status {
    pub(super) fn check(&self, call: &'static str) -> Result<(), CudaError> {
        match self.0 {
            0 => Ok(()),
            code => Err(CudaError::Driver { call, code: DriverCode(code) }),
        }
    }
}

// The build script of cust_raw links them. The signatures are those of cust_raw, which bindgen took
// from cuda.h of CUDA 11.x, but for the result. The driver never changes them.
unsafe extern "C" {
    pub(super) safe fn cuInit(flags: c_uint) -> Status;
    pub(super) fn cuDriverGetVersion(version: *mut c_int) -> Status;
    pub(super) fn cuGetProcAddress(
        symbol: *const c_char,
        function: *mut *mut c_void,
        version: c_int,
        flags: u64,
    ) -> Status;
    pub(super) fn cuDevicePrimaryCtxGetState(
        device: c_int,
        flags: *mut c_uint,
        active: *mut c_int,
    ) -> Status;
    pub(super) fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) -> Status;
    pub(super) fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) -> Status;
    pub(super) fn cuModuleUnload(module: CUmodule) -> Status;
    pub(super) fn cuModuleGetFunction(
        function: *mut CUfunction,
        module: CUmodule,
        name: *const c_char,
    ) -> Status;
    pub(super) fn cuModuleGetGlobal_v2(
        pointer: *mut u64,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> Status;
    pub(super) fn cuLinkCreate_v2(
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
        link: *mut CUlinkState,
    ) -> Status;
    pub(super) fn cuLinkAddData_v2(
        link: CUlinkState,
        kind: c_uint,
        data: *mut c_void,
        bytes: usize,
        name: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) -> Status;
    pub(super) fn cuLinkComplete(
        link: CUlinkState,
        image: *mut *mut c_void,
        bytes: *mut usize,
    ) -> Status;
    pub(super) fn cuLinkDestroy(link: CUlinkState) -> Status;
    pub(super) fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Status;
}
