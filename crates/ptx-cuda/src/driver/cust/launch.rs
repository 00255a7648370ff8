//! Launches: on a stream by the caller, or to their end with checked arguments.

use std::ffi::c_void;
use std::ptr::null_mut;

use cust::function::{BlockSize, GridSize};
use cust::stream::Stream;

use super::calls::{cust_error, newer};
use super::declarations as sys;
use super::driver::CustDriver;
use crate::{CudaError, DriverCode, Function};

/// The bytes of each of a kernel's parameters, in order.
///
/// # Errors
///
/// [`CudaError::Driver`], with [`DriverCode::NOT_SUPPORTED`] from a driver before CUDA 12.4.
fn parameters(function: &Function<CustDriver>) -> Result<Vec<usize>, CudaError> {
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
/// It compares the values with the kernel's parameters first, so that the driver reads nothing else
/// of this process's memory. It does not check what the kernel does to the device's memory: never
/// launch PTX that you do not trust.
pub(super) fn launch_and_wait(
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

/// A stream that launches a [`Function`], also through `cust::launch!`. The crate's front page has
/// an example.
#[derive(Clone, Copy, Debug)]
pub struct LaunchStream<'s>(pub &'s Stream);

impl LaunchStream<'_> {
    /// Launches a kernel on the stream and returns before it is done.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver refuses the launch, or where an earlier launch
    /// failed.
    ///
    /// # Safety
    ///
    /// * `arguments` point to as many values as the kernel has parameters, each of the
    ///   parameter's type.
    /// * Until the kernel is done, its function and the memory that it reads and writes stay
    ///   allocated, and nobody else touches them.
    /// * The stream belongs to the function's context, and that context is current.
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
