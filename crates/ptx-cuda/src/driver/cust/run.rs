//! Runs a kernel to its end on bytes: for tests, tools, and a first look at a kernel.

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};

use super::calls::cust_error;
use super::driver::CustDriver;
use super::launch::launch_and_wait;
use crate::{CudaError, Function};

/// An argument for one of a kernel's parameters.
#[derive(Debug)]
pub enum Argument<'b> {
    /// A pointer to a copy of these bytes on the device. They are copied back when the kernel is
    /// done.
    Buffer(&'b mut [u8]),
    /// A value, by its bytes as they lie in memory.
    Value(&'b [u8]),
}

impl Function<CustDriver> {
    /// Runs the kernel and waits for it: copies the buffers to the device, launches, and copies
    /// them back. For launches that must be fast, see [`LaunchStream`](crate::LaunchStream).
    ///
    /// It compares the arguments with the kernel's parameters. It does not check what the kernel
    /// does on the device: trust PTX as you trust a library that you load.
    ///
    /// # Errors
    ///
    /// [`CudaError::Arguments`] where the arguments differ from the kernel's parameters in number
    /// or length, and [`CudaError::Driver`]: with
    /// [`NOT_SUPPORTED`](crate::DriverCode::NOT_SUPPORTED) where the driver is older than CUDA
    /// 12.4, which does not know a kernel's parameters.
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
        // The copies may continue after their calls; a blocking stream starts when they are done.
        let stream = Stream::new(StreamFlags::DEFAULT, None)
            .map_err(|error| cust_error("cuStreamCreate", error))?;
        launch_and_wait(self, grid, block, shared_bytes, &stream, &mut values)?;
        for (argument, buffer) in arguments.iter_mut().zip(buffers) {
            if let (Argument::Buffer(bytes), Some(buffer)) = (argument, buffer) {
                buffer.copy_to(*bytes).map_err(|error| cust_error("cuMemcpyDtoH", error))?;
            }
        }
        Ok(())
    }
}
