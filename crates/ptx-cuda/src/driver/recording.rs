//! A driver for machines without a GPU: it records every call, and reports callers that break the
//! rules of a driver.

mod calls;
mod state;

use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use ptx_key::{ComputeCapability, JitOptions};

pub use self::calls::{Call, Operation, RecordedFunction, RecordedModule};
pub use self::state::RecordedContext;
use self::state::{Retained, State, driver_error, lock};
use crate::assemble::{HEADER_BYTES, check_for_driver, smallest_cubin};
use crate::{
    Assembled, ContextId, Cubin, CudaError, DeviceFacts, DevicePointer, Driver, DriverBuild,
    DriverCode, DriverVersion, Failure, Global, Image, JitLog, Loaded, Ptx,
};

/// A driver that records every call and runs nothing.
///
/// It accepts or refuses a text by its header alone, as a driver of its version and devices would.
/// A module's functions are the kernels that its text names. It assembles a text to a cubin that
/// contains the text, and accepts other cubins that have kernels for its devices.
///
/// ```
/// use ptx_cuda::{Context, Operation, Ptx, RecordingDriver};
///
/// let driver = RecordingDriver::new();
/// let context = Context::primary(&driver, 0)?;
/// let text = Ptx::new(".version 9.0\n.target sm_90\n.entry saxpy() { ret; }")?;
/// let function = context.load(&text.into())?.function("saxpy")?;
/// driver.launch(function.raw());
/// drop(function);
/// assert_eq!(driver.count(Operation::Unload), 1);
/// assert_eq!(driver.violations(), [""; 0]);
/// # Ok::<(), ptx_cuda::CudaError>(())
/// ```
pub struct RecordingDriver {
    version: DriverVersion,
    build: Option<DriverBuild>,
    devices: Vec<DeviceFacts>,
    state: Arc<Mutex<State>>,
}

impl RecordingDriver {
    /// A driver of CUDA 13.0 with one device of compute capability 9.0.
    pub fn new() -> Arc<Self> {
        let capability = ComputeCapability { major: 9, minor: 0 };
        Self::with_devices(DriverVersion(13_000), &[capability])
    }

    /// The same driver of this build, for tests of what an upgrade changes. `None` is a driver of
    /// an unknown build.
    #[cfg(test)]
    pub(crate) fn of_build(build: Option<DriverBuild>) -> Arc<Self> {
        let mut driver = Self::new();
        if let Some(driver) = Arc::get_mut(&mut driver) {
            driver.build = build;
        }
        driver
    }

    /// A driver with these devices.
    pub fn with_devices(version: DriverVersion, devices: &[ComputeCapability]) -> Arc<Self> {
        let facts = |(ordinal, capability): (u32, &ComputeCapability)| DeviceFacts {
            ordinal,
            name: format!("recorded device {ordinal}"),
            compute_capability: *capability,
            memory_bytes: 1 << 30,
        };
        let devices = (0..).zip(devices).map(facts).collect();
        let build = Some(DriverBuild::new("recording driver"));
        Arc::new(Self { version, build, devices, state: Arc::default() })
    }

    /// The calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// The number of calls of a kind.
    pub fn count(&self, operation: Operation) -> usize {
        self.state().calls.iter().filter(|call| call.operation() == operation).count()
    }

    /// The broken rules: a module used or unloaded after it was unloaded, a context released with
    /// modules in it.
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    /// The number of modules that are loaded now.
    pub fn loaded(&self) -> usize {
        self.state().modules.len()
    }

    /// Makes the next call of this kind fail. Several failures of a kind come in order.
    /// [`Operation::Release`] and [`Operation::Launch`] cannot fail.
    pub fn fail_next(&self, operation: Operation, failure: Failure) {
        self.state().failures.push_back((operation, failure));
    }

    /// Adds a global variable of this name and length in bytes to every module.
    #[cfg(test)]
    pub(crate) fn define_global(&self, name: &str, bytes: u64) {
        self.state().globals.insert(name.to_owned(), bytes);
    }

    /// Destroys a context behind its users' backs, as a device reset does. Its modules go with it.
    pub fn destroy(&self, context: ContextId) {
        self.state().destroy(context);
    }

    /// Records a launch.
    pub fn launch(&self, function: RecordedFunction) {
        self.state().launch(function);
    }

    /// Runs `launch_path`, in which this thread may only launch. Any other call of a driver is a
    /// [violation](Self::violations).
    ///
    /// ```
    /// # use ptx_cuda::{Config, Context, ModuleCache, Ptx, RecordingDriver};
    /// # let driver = RecordingDriver::new();
    /// # let context = Context::primary(&driver, 0)?;
    /// # let modules = ModuleCache::new(Config::default());
    /// # let text = ".version 9.0\n.target sm_90\n.entry saxpy() { ret; }";
    /// # let key = context.module_key_of_text(text);
    /// modules.get_or_load(&context, &key, || Ptx::new(text))?.function("saxpy")?;
    /// let raw = driver.on_launch_path(|| {
    ///     modules.with(&context, &key, |module| module.raw_function("saxpy"))
    /// });
    /// assert!(raw.is_some_and(|raw| raw.is_ok()));
    /// assert_eq!(driver.violations(), [""; 0]);
    /// # Ok::<(), ptx_cuda::CudaError>(())
    /// ```
    pub fn on_launch_path<R>(&self, launch_path: impl FnOnce() -> R) -> R {
        calls::on_launch_path(launch_path)
    }

    /// Makes every call wait until the returned guard drops.
    #[cfg(test)]
    pub(crate) fn busy(&self) -> impl Drop {
        self.state()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn facts(&self, ordinal: u32) -> Result<&DeviceFacts, CudaError> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal));
        device.ok_or(driver_error("cuDeviceGet", DriverCode::INVALID_DEVICE))
    }

    fn context(&self, device: u32, primary: bool) -> Result<RecordedContext, CudaError> {
        self.facts(device)?;
        // Declared before the guard: its drop takes the lock.
        let _gone;
        let mut state = self.state();
        state.fail(Operation::Context).map_err(other)?;
        if primary {
            let retained = state.primaries.get(&device).and_then(Weak::upgrade);
            match retained {
                Some(retained) if state.is_there(retained.id) => {
                    return Ok(RecordedContext(retained));
                }
                gone => _gone = gone,
            }
        }
        let id = state.new_context(device);
        let retained = Arc::new(Retained { id, state: Arc::clone(&self.state) });
        if primary {
            state.primaries.insert(device, Arc::downgrade(&retained));
        }
        Ok(RecordedContext(retained))
    }

    /// Refuses a text as a driver of this version and device would.
    fn judge(&self, ptx: &Ptx, context: ContextId) -> Result<(), Failure> {
        let (header, device) = (ptx.header(), self.facts(context.device)?);
        let judged = |code, line: u32, message: String| Failure::Judged {
            code,
            log: JitLog::new(format!(
                "ptxas application ptx input, line {line}; fatal   : {message}"
            )),
        };
        match self.version.latest_isa() {
            Some(latest) if header.isa > latest => Err(judged(
                DriverCode::UNSUPPORTED_PTX_VERSION,
                header.isa_line,
                format!("Unsupported .version {}; current version is '{latest}'", header.isa),
            )),
            _ if !header.runs_on(device.compute_capability) => Err(judged(
                DriverCode::NO_BINARY_FOR_GPU,
                header.target_line,
                format!("the .target {} does not fit the device", header.target),
            )),
            _ => Ok(()),
        }
    }
}

impl Driver for RecordingDriver {
    type Context = RecordedContext;
    type Module = RecordedModule;
    type Function = RecordedFunction;

    fn version(&self) -> Result<DriverVersion, CudaError> {
        Ok(self.version)
    }

    fn build(&self) -> Option<DriverBuild> {
        self.build.clone()
    }

    fn device_count(&self) -> Result<u32, CudaError> {
        Ok(u32::try_from(self.devices.len()).unwrap_or(u32::MAX))
    }

    fn device(&self, ordinal: u32) -> Result<DeviceFacts, CudaError> {
        self.facts(ordinal).cloned()
    }

    fn primary_context(&self, device: u32) -> Result<RecordedContext, CudaError> {
        self.context(device, true)
    }

    fn own_context(&self, device: u32) -> Result<RecordedContext, CudaError> {
        self.context(device, false)
    }

    fn context_id(&self, context: &RecordedContext) -> ContextId {
        context.0.id
    }

    fn load(
        &self,
        context: &RecordedContext,
        image: &Image,
        options: &JitOptions,
    ) -> Result<Loaded<RecordedModule>, Failure> {
        check_for_driver(options)?;
        let mut state = self.state();
        state.fail(Operation::Load)?;
        let id = context.0.id;
        state.in_context("cuModuleLoadDataEx", id)?;
        let text = match image {
            Image::Ptx(ptx) => {
                self.judge(ptx, id)?;
                Arc::clone(ptx.text())
            }
            Image::Cubin(cubin) => text_in(cubin, self.facts(id.device)?.compute_capability)?,
        };
        Ok(Loaded { module: state.load(id, text), log: JitLog::default() })
    }

    fn function(
        &self,
        module: &RecordedModule,
        name: &CStr,
    ) -> Result<Option<RecordedFunction>, CudaError> {
        let mut state = self.state();
        state.fail(Operation::Function).map_err(other)?;
        state.function(*module, name.to_string_lossy().into_owned())
    }

    fn global(&self, module: &RecordedModule, name: &CStr) -> Result<Option<Global>, CudaError> {
        let mut state = self.state();
        state.fail(Operation::Global).map_err(other)?;
        let bytes = state.global(*module, name.to_string_lossy().into_owned())?;
        Ok(bytes.map(|bytes| Global { pointer: DevicePointer((module.0 + 1) << 32), bytes }))
    }

    fn unload(&self, module: RecordedModule) -> Result<(), CudaError> {
        let mut state = self.state();
        let injected = state.fail(Operation::Unload).map_err(other);
        state.unload(module)?;
        injected
    }

    fn assemble(
        &self,
        context: &RecordedContext,
        ptx: &Ptx,
        options: &JitOptions,
    ) -> Result<Assembled, Failure> {
        check_for_driver(options)?;
        let mut state = self.state();
        state.fail(Operation::Assemble)?;
        let id = context.0.id;
        state.in_context("cuLinkCreate", id)?;
        self.judge(ptx, id)?;
        state.record(Call::Assemble(id));
        let capability = self.facts(id.device)?.compute_capability;
        let number = u8::try_from(capability.major * 10 + capability.minor).unwrap_or(u8::MAX);
        let cubin = Cubin::new(smallest_cubin(number, ptx.text().as_bytes()))?;
        let log = JitLog::new(format!("ptxas info    : {} bytes of PTX", ptx.text().len()));
        Ok(Assembled { cubin, log })
    }
}

/// A text with the kernels of a cubin, for a device of this compute capability.
fn text_in(cubin: &Cubin, device: ComputeCapability) -> Result<Arc<str>, Failure> {
    let judged = |code, said: &str| Failure::Judged { code, log: JitLog::new(said) };
    if !cubin.runs_on(device) {
        return Err(judged(DriverCode::NO_BINARY_FOR_GPU, "the cubin is for another device"));
    }
    let own = cubin.image().get(HEADER_BYTES..).map(std::str::from_utf8);
    if let Some(Ok(text)) = own
        && text.contains(".version")
    {
        return Ok(text.into());
    }
    let kernels = cubin.kernels();
    if kernels.is_empty() {
        let said = "neither a cubin of this driver nor one with kernels";
        return Err(judged(DriverCode::INVALID_IMAGE, said));
    }
    let entries: Vec<_> = kernels.iter().map(|name| format!(".entry {name}() {{}}")).collect();
    Ok(entries.join("\n").into())
}

/// The error of an injected failure for a call that judges no text.
fn other(failure: Failure) -> CudaError {
    match failure {
        Failure::Other(error) => error,
        Failure::Judged { code, .. } => driver_error("the recorded call", code),
    }
}

#[cfg(test)]
mod tests;
