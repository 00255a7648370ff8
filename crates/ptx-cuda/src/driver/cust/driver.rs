//! `CustDriver`, which implements `Driver` for the CUDA driver of this machine.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cust::device::{Device, DeviceAttribute};
use ptx_key::{ComputeCapability, JitOptions};

use super::calls::{self, cust_error};
use super::context::{CustContext, Entered, LiveContext};
use super::module::{self, CustFunction, CustModule};
use crate::assemble::check_for_driver;
use crate::{
    Assembled, Context, ContextId, Cubin, CudaError, DeviceFacts, Driver, DriverBuild,
    DriverVersion, Failure, Global, Image, Loaded, Ptx,
};

/// The CUDA driver of this machine.
///
/// ```no_run
/// use ptx_cuda::{Context, CustDriver, Ptx};
///
/// let driver = CustDriver::new()?;
/// let context = Context::primary(&driver, 0)?;
/// let text = ".version 8.0\n.target sm_70\n.visible .entry nothing() { ret; }\n";
/// let nothing = context.load(&Ptx::new(text)?.into())?.function("nothing")?;
/// nothing.run([1, 1, 1], [32, 1, 1], 0, &mut [])?;
/// # Ok::<(), ptx_cuda::CudaError>(())
/// ```
pub struct CustDriver {
    version: DriverVersion,
    build: Option<DriverBuild>,
    /// The primary contexts that are retained now, by device: every caller shares them.
    primaries: Mutex<HashMap<u32, (ContextId, Weak<LiveContext>)>>,
}

impl CustDriver {
    /// Starts the driver.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no device, or the driver does not start.
    pub fn new() -> Result<Arc<Self>, CudaError> {
        let version = calls::init()?;
        Ok(Arc::new(Self {
            version,
            // `init` has mapped the library.
            build: DriverBuild::find(),
            primaries: Mutex::default(),
        }))
    }
}

impl fmt::Debug for CustDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustDriver({})", self.version)
    }
}

impl Driver for CustDriver {
    type Context = CustContext;
    type Module = CustModule;
    type Function = CustFunction;

    fn version(&self) -> Result<DriverVersion, CudaError> {
        Ok(self.version)
    }

    fn build(&self) -> Option<DriverBuild> {
        self.build.clone()
    }

    fn device_count(&self) -> Result<u32, CudaError> {
        Device::num_devices().map_err(|error| cust_error("cuDeviceGetCount", error))
    }

    fn device(&self, ordinal: u32) -> Result<DeviceFacts, CudaError> {
        let device =
            Device::get_device(ordinal).map_err(|error| cust_error("cuDeviceGet", error))?;
        let number = |attribute| {
            let value = device.get_attribute(attribute);
            let value = value.map_err(|error| cust_error("cuDeviceGetAttribute", error))?;
            Ok::<_, CudaError>(u16::try_from(value).unwrap_or(0))
        };
        let compute_capability = ComputeCapability {
            major: number(DeviceAttribute::ComputeCapabilityMajor)?,
            minor: number(DeviceAttribute::ComputeCapabilityMinor)?,
        };
        let memory =
            device.total_memory().map_err(|error| cust_error("cuDeviceTotalMem", error))?;
        Ok(DeviceFacts {
            ordinal,
            name: device.name().map_err(|error| cust_error("cuDeviceGetName", error))?,
            compute_capability,
            memory_bytes: memory as u64,
        })
    }

    fn primary_context(&self, device: u32) -> Result<CustContext, CudaError> {
        // A table of weak pointers is whole whenever a panic can strike.
        let mut primaries = self.primaries.lock().unwrap_or_else(PoisonError::into_inner);
        let retained = primaries.get(&device).and_then(|(id, weak)| {
            let live = weak.upgrade().filter(|live| live.check().is_ok())?;
            Some(CustContext { live, id: *id })
        });
        if let Some(retained) = retained {
            return Ok(retained);
        }
        let live = Arc::new(LiveContext::primary(device)?);
        let context = CustContext { live, id: ContextId::next_on(device) };
        primaries.insert(device, (context.id, Arc::downgrade(&context.live)));
        Ok(context)
    }

    fn own_context(&self, device: u32) -> Result<CustContext, CudaError> {
        let live = Arc::new(LiveContext::own(device)?);
        Ok(CustContext { live, id: ContextId::next_on(device) })
    }

    fn context_id(&self, context: &CustContext) -> ContextId {
        context.id
    }

    fn load(
        &self,
        context: &CustContext,
        image: &Image,
        options: &JitOptions,
    ) -> Result<Loaded<CustModule>, Failure> {
        check_for_driver(options)?;
        module::load(context, image, options)
    }

    fn function(
        &self,
        module: &CustModule,
        name: &CStr,
    ) -> Result<Option<CustFunction>, CudaError> {
        module::function(module, name)
    }

    fn global(&self, module: &CustModule, name: &CStr) -> Result<Option<Global>, CudaError> {
        module::global(module, name)
    }

    fn unload(&self, module: CustModule) -> Result<(), CudaError> {
        module::unload(module)
    }

    fn assemble(
        &self,
        context: &CustContext,
        ptx: &Ptx,
        options: &JitOptions,
    ) -> Result<Assembled, Failure> {
        check_for_driver(options)?;
        let (image, log) = module::assemble(context, ptx, options)?;
        Ok(Assembled { cubin: Cubin::new(image)?, log })
    }
}

impl Context<CustDriver> {
    /// Makes the context current on this thread until the guard drops. Calls of `cust` work on the
    /// current context.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the context is gone.
    pub fn enter(&self) -> Result<Entered<'_>, CudaError> {
        self.raw().live().enter()
    }

    /// The bytes of the device's memory that are free now.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`].
    pub fn free_bytes(&self) -> Result<u64, CudaError> {
        let _entered = self.enter()?;
        let (free, _) =
            cust::memory::mem_get_info().map_err(|error| cust_error("cuMemGetInfo", error))?;
        Ok(free as u64)
    }
}
