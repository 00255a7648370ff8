//! A kernel run to its end on bytes: for tests, tools, and a first look at a kernel.

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};

use super::{CustDriver, cust_error};
use crate::{CudaError, Function, cust_driver};

/// What a kernel is given for one of its parameters.
#[derive(Debug)]
pub enum Argument<'b> {
    /// A pointer to a copy of these bytes on the device. When the kernel is done they are what it
    /// left there.
    Buffer(&'b mut [u8]),
    /// A value, by its bytes as they lie in memory.
    Value(&'b [u8]),
}

impl Function<CustDriver> {
    /// Runs the kernel and waits for it: copies the buffers to the device, launches, and copies
    /// them back. For launches that count, see [`LaunchStream`](crate::LaunchStream).
    ///
    /// The arguments are compared with the kernel's parameters. What the kernel does on the
    /// device is not checked: PTX is code, and is trusted like any library that a program loads.
    ///
    /// # Errors
    ///
    /// [`CudaError::Arguments`] where the arguments are not as many or not as long as the
    /// kernel's parameters, and [`CudaError::Driver`]: also with
    /// [`NOT_SUPPORTED`](crate::DriverCode::NOT_SUPPORTED) from a driver before CUDA 12.4, which
    /// does not say what parameters a kernel has.
    pub fn run(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &mut [Argument<'_>],
    ) -> Result<(), CudaError> {
        let _entered = self.module().context().enter()?;
        let mut buffers = Vec::with_capacity(arguments.len());
        let mut values = Vec::with_capacity(arguments.len());
        for argument in &*arguments {
            let (buffer, value) = match argument {
                Argument::Value(value) => (None, value.to_vec()),
                Argument::Buffer(bytes) => {
                    let buffer = DeviceBuffer::from_slice(bytes)
                        .map_err(|error| cust_error("cuMemcpyHtoD", error))?;
                    let pointer = buffer.as_device_ptr().as_raw();
                    (Some(buffer), pointer.to_le_bytes().to_vec())
                }
            };
            buffers.push(buffer);
            values.push(value);
        }
        // A blocking stream starts when the copies are done, which may go on behind their calls.
        let stream = Stream::new(StreamFlags::DEFAULT, None)
            .map_err(|error| cust_error("cuStreamCreate", error))?;
        cust_driver::launch_and_wait(self, grid, block, shared_bytes, &stream, &mut values)?;
        for (argument, buffer) in arguments.iter_mut().zip(buffers) {
            if let (Argument::Buffer(bytes), Some(buffer)) = (argument, buffer) {
                buffer.copy_to(*bytes).map_err(|error| cust_error("cuMemcpyDtoH", error))?;
            }
        }
        Ok(())
    }
}
