//! What is asked of a CUDA driver.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_key::{ComputeCapability, JitOptions};

use crate::{Cubin, CudaError, DriverBuild, DriverCode, DriverVersion, JitLog, Ptx};

/// A CUDA driver: device facts, contexts, and modules loaded, looked into and unloaded.
///
/// `CustDriver` (feature `cuda`) is the real one. [`RecordingDriver`](crate::RecordingDriver)
/// stands in for it on machines without a GPU.
///
/// Every method may be called from any thread. A driver makes the right context current itself,
/// and leaves the caller's as it was.
pub trait Driver: Send + Sync + 'static {
    /// A context. Clones are the same context; it is given back when the last one drops.
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

    /// Which build of that version it is; `None` where that cannot be told. It counts in the keys
    /// of what the driver assembles.
    fn build(&self) -> Option<DriverBuild>;

    /// How many devices there are.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn device_count(&self) -> Result<u32, CudaError>;

    /// What is known of a device.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no such device.
    fn device(&self, ordinal: u32) -> Result<DeviceFacts, CudaError>;

    /// Retains the primary context of a device: the one that the CUDA runtime and most libraries
    /// use. One that was reset, though it has users left, is retained anew, as another context.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn primary_context(&self, device: u32) -> Result<Self::Context, CudaError>;

    /// Makes a context of its own on a device. Modules and memory of one context are no use in
    /// another.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    fn own_context(&self, device: u32) -> Result<Self::Context, CudaError>;

    /// Which context this is. [`ContextId::next_on`] gives the number of a new one.
    fn context_id(&self, context: &Self::Context) -> ContextId;

    /// Loads a text or an image into a context.
    ///
    /// # Errors
    ///
    /// What the driver says, with its log.
    fn load(
        &self,
        context: &Self::Context,
        image: &Image,
        options: &JitOptions,
    ) -> Result<Loaded<Self::Module>, Failure>;

    /// A function of a module; `None` where it has none of this name.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    fn function(
        &self,
        module: &Self::Module,
        name: &CStr,
    ) -> Result<Option<Self::Function>, CudaError>;

    /// A global variable of a module; `None` where it has none of this name.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    fn global(&self, module: &Self::Module, name: &CStr) -> Result<Option<Global>, CudaError>;

    /// Unloads a module, in the context it was loaded into.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`]. Where the context is gone the module went with it.
    fn unload(&self, module: Self::Module) -> Result<(), CudaError>;

    /// Assembles a text for the context's device with the driver's linker.
    ///
    /// # Errors
    ///
    /// What the driver says, with its log.
    fn assemble(
        &self,
        context: &Self::Context,
        ptx: &Ptx,
        options: &JitOptions,
    ) -> Result<Assembled, Failure>;
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Its number, as `nvidia-smi -L` and `CUDA_VISIBLE_DEVICES` leave it.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// What it can run.
    pub compute_capability: ComputeCapability,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

/// A context of this process. Another context never has the same, even after this one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId {
    /// The device's number.
    pub device: u32,
    /// Which of the contexts that this process had.
    pub serial: u64,
}

impl ContextId {
    /// That of a context on `device` which has none yet, whichever driver object made it: two of
    /// them may share a [`ModuleCache`](crate::ModuleCache).
    pub fn next_on(device: u32) -> Self {
        static SERIALS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: the numbers only have to differ.
        Self { device, serial: SERIALS.fetch_add(1, Ordering::Relaxed) }
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {} of device {}", self.serial, self.device)
    }
}

/// A text or an image that a module can be loaded from. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text, which the driver assembles.
    Ptx(Ptx),
    /// Machine code.
    Cubin(Cubin),
}

impl Image {
    /// Bytes that its module takes on the device. Of a text, whose machine code is not there yet,
    /// they are taken to be as many as its own.
    pub fn device_bytes(&self) -> u64 {
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
    /// What the assembler said on the way.
    pub log: JitLog,
}

/// What an assembler made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The machine code.
    pub cubin: Cubin,
    /// What the assembler said on the way.
    pub log: JitLog,
}

/// Why the driver loaded or assembled nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// It judged the text or image. [`Context::load`](crate::Context::load) makes a
    /// [`Refused`](crate::Refused) of it.
    #[error("{code}: {log}")]
    Judged {
        /// What it returned.
        code: DriverCode,
        /// What the assembler said.
        log: JitLog,
    },
    /// It did not get that far.
    #[error(transparent)]
    Other(#[from] CudaError),
}

/// A global variable on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Where it lies in the device's memory.
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
