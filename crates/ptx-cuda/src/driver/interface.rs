//! The trait that a CUDA driver implements, and what its calls take and return.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_key::{ComputeCapability, JitOptions};

use crate::{Cubin, CudaError, DriverBuild, DriverCode, DriverVersion, JitLog, Ptx};

/// A CUDA driver: it describes devices, creates contexts, and loads, looks into and unloads
/// modules.
///
/// `CustDriver` (feature `cuda`) is the real one. [`RecordingDriver`](crate::RecordingDriver)
/// replaces it on machines without a GPU.
///
/// Any thread may call every method. A driver makes the right context current itself, and restores
/// the caller's.
pub trait Driver: Send + Sync + 'static {
    /// A context. Clones are the same context; the last one to drop releases it.
    type Context: Clone + Send + Sync + 'static;
    /// A loaded module. Dropping it does nothing: see [`unload`](Driver::unload).
    type Module: Send + Sync + 'static;
    /// A function of a loaded module. It must not be launched after the module is unloaded.
    type Function: Copy + Send + Sync + 'static;

    /// The version of the driver's interface.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver does not answer.
    fn version(&self) -> Result<DriverVersion, CudaError>;

    /// The build of that version, or `None` where it is unknown. The keys of what the driver
    /// assembles contain it.
    fn build(&self) -> Option<DriverBuild>;

    /// The number of devices.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn device_count(&self) -> Result<u32, CudaError>;

    /// Describes a device.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no such device.
    fn device(&self, ordinal: u32) -> Result<DeviceFacts, CudaError>;

    /// Retains the primary context of a device: the one that the CUDA runtime and most libraries
    /// use. After a reset it is another context, even where users of the old one are left.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn primary_context(&self, device: u32) -> Result<Self::Context, CudaError>;

    /// Creates a context on a device. Modules and memory of one context cannot be used in another.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn own_context(&self, device: u32) -> Result<Self::Context, CudaError>;

    /// The context's number. A driver numbers a new context by [`ContextId::next_on`].
    fn context_id(&self, context: &Self::Context) -> ContextId;

    /// Loads a text or an image into a context.
    ///
    /// # Errors
    ///
    /// The driver's refusal with its log.
    fn load(
        &self,
        context: &Self::Context,
        image: &Image,
        options: &JitOptions,
    ) -> Result<Loaded<Self::Module>, Failure>;

    /// The function `name` of a module, or `None` where it has none.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    fn function(
        &self,
        module: &Self::Module,
        name: &CStr,
    ) -> Result<Option<Self::Function>, CudaError>;

    /// The global variable `name` of a module, or `None` where it has none.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    fn global(&self, module: &Self::Module, name: &CStr) -> Result<Option<Global>, CudaError>;

    /// Unloads a module, in the context it was loaded into.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`]. A context that is gone took the module with it.
    fn unload(&self, module: Self::Module) -> Result<(), CudaError>;

    /// Assembles a text for the context's device with the driver's linker.
    ///
    /// # Errors
    ///
    /// The driver's refusal with its log.
    fn assemble(
        &self,
        context: &Self::Context,
        ptx: &Ptx,
        options: &JitOptions,
    ) -> Result<Assembled, Failure>;
}

/// A device, as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Its number among the devices that `CUDA_VISIBLE_DEVICES` leaves visible.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// The compute capability.
    pub compute_capability: ComputeCapability,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

/// The number of a context in this process. No other context ever gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId {
    /// The device's number.
    pub device: u32,
    /// The number of the context among all that this process had.
    pub serial: u64,
}

impl ContextId {
    /// A new number for a context on `device`. All driver objects share one sequence, since they
    /// may share a [`ModuleCache`](crate::ModuleCache).
    pub fn next_on(device: u32) -> Self {
        static SERIALS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: the numbers only need to differ.
        Self { device, serial: SERIALS.fetch_add(1, Ordering::Relaxed) }
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {} of device {}", self.serial, self.device)
    }
}

/// What a driver loads a module from. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text, which the driver assembles.
    Ptx(Ptx),
    /// Machine code.
    Cubin(Cubin),
}

impl Image {
    /// The bytes that its module takes on the device. A text's own length stands for its machine
    /// code, which is not known yet.
    pub(crate) fn device_bytes(&self) -> u64 {
        match self {
            Self::Ptx(ptx) => ptx.text().len() as u64,
            Self::Cubin(cubin) => cubin.device_bytes(),
        }
    }
}

impl From<Ptx> for Image {
    fn from(ptx: Ptx) -> Self {
        Self::Ptx(ptx)
    }
}

impl From<Cubin> for Image {
    fn from(cubin: Cubin) -> Self {
        Self::Cubin(cubin)
    }
}

/// A module as the driver loaded it.
#[derive(Debug)]
pub struct Loaded<M> {
    /// The module.
    pub module: M,
    /// The assembler's log.
    pub log: JitLog,
}

/// An assembled text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The machine code.
    pub cubin: Cubin,
    /// The assembler's log.
    pub log: JitLog,
}

/// Why the driver loaded or assembled nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// It refused the text or image. [`Context::load`](crate::Context::load) explains that as
    /// [`Refused`](crate::Refused).
    #[error("{code}: {log}")]
    Judged {
        /// The driver's result.
        code: DriverCode,
        /// The assembler's log.
        log: JitLog,
    },
    /// Another call failed before.
    #[error(transparent)]
    Other(#[from] CudaError),
}

/// A global variable on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its address in the device's memory.
    pub pointer: DevicePointer,
    /// Its length in bytes.
    pub bytes: u64,
}

/// An address in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePointer(pub u64);

impl fmt::LowerHex for DevicePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
