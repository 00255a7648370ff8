//! A context, and what decides the machine code that is loaded into it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_key::{Assembler, Digest, JitConfiguration, JitOptions, ModuleKey, PtxKey};

use crate::assemble::{Asked, refused_cubin, refused_ptx};
use crate::{
    Assembled, ContextId, CudaError, DeviceFacts, Driver, DriverVersion, Failure, Image, Loaded,
    ModuleKeys, Ptx, Ptxas,
};

/// A CUDA context, its device, and the JIT options for what is loaded into it.
///
/// Cheap to clone. The context lives until the last clone and the last module in it are dropped.
pub struct Context<D: Driver> {
    shared: Arc<Shared<D>>,
    jit: Arc<JitConfiguration>,
    /// `None` is the driver.
    assembler: Option<Arc<Ptxas>>,
    shipped: Arc<[Digest]>,
}

struct Shared<D: Driver> {
    driver: Arc<D>,
    context: D::Context,
    id: ContextId,
    device: DeviceFacts,
    version: DriverVersion,
    failed_unloads: AtomicU64,
}

impl<D: Driver> Context<D> {
    /// The primary context of a device, with the driver's default options.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no such device, or its context cannot be retained.
    pub fn primary(driver: &Arc<D>, device: u32) -> Result<Self, CudaError> {
        Self::new(driver, driver.primary_context(device)?)
    }

    /// A new context on a device, with the driver's default options.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no such device, or no more contexts can be created.
    pub fn own(driver: &Arc<D>, device: u32) -> Result<Self, CudaError> {
        Self::new(driver, driver.own_context(device)?)
    }

    /// An existing context of the driver, with the driver's default options.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot describe the device.
    pub fn new(driver: &Arc<D>, context: D::Context) -> Result<Self, CudaError> {
        let id = driver.context_id(&context);
        let device = driver.device(id.device)?;
        let version = driver.version()?;
        let jit = JitConfiguration {
            compute_capability: device.compute_capability,
            assembler: Assembler::Driver {
                version: version.0,
                build: driver.build().map(|build| build.digest()),
            },
            options: JitOptions::default(),
        };
        let driver = Arc::clone(driver);
        let failed_unloads = AtomicU64::new(0);
        let shared = Shared { driver, context, id, device, version, failed_unloads };
        Ok(Self {
            shared: Arc::new(shared),
            jit: Arc::new(jit),
            assembler: None,
            shipped: [].into(),
        })
    }

    /// The same context with other options.
    #[must_use]
    pub fn with_options(&self, options: JitOptions) -> Self {
        let jit = JitConfiguration { options, ..(*self.jit).clone() };
        Self { jit: Arc::new(jit), ..self.clone() }
    }

    /// The same context, for which a cache assembles texts with `ptxas` and not with the driver.
    /// The keys differ.
    #[must_use]
    pub fn assembled_by(&self, assembler: &Arc<Ptxas>) -> Self {
        let jit = assembler.jit(self.jit.compute_capability, self.jit.options.clone());
        Self { jit: Arc::new(jit), assembler: Some(Arc::clone(assembler)), ..self.clone() }
    }

    /// The same context, for which a cache also looks for cubins that these assemblers made, such
    /// as those that an application ships. [`Ptxas::fingerprint`] names an assembler, which need
    /// not be on this machine.
    #[must_use]
    pub fn with_shipped(&self, fingerprints: &[Digest]) -> Self {
        Self { shipped: fingerprints.into(), ..self.clone() }
    }

    /// The keys under which a store may have a lowering's module. Each costs a SHA-256: keep them.
    pub fn module_keys(&self, lowering: &PtxKey) -> ModuleKeys {
        ModuleKeys::new(&self.jit, &self.shipped, |jit| jit.key_of_lowering(lowering))
    }

    /// Returns true if the driver assembles this context's texts.
    pub(crate) fn driver_assembles(&self) -> bool {
        self.assembler.is_none()
    }

    /// What decides, besides the text, which machine code is loaded.
    pub fn jit(&self) -> &JitConfiguration {
        &self.jit
    }

    /// The key of a lowering's module in this configuration. It costs a SHA-256: keep it.
    pub fn module_key(&self, lowering: &PtxKey) -> ModuleKey {
        self.jit.key_of_lowering(lowering)
    }

    /// The key of a text's module in this configuration.
    pub fn module_key_of_text(&self, text: &str) -> ModuleKey {
        self.jit.key_of_text(text)
    }

    /// The driver.
    pub fn driver(&self) -> &Arc<D> {
        &self.shared.driver
    }

    /// The driver's context.
    pub fn raw(&self) -> &D::Context {
        &self.shared.context
    }

    /// The context's number.
    pub fn id(&self) -> ContextId {
        self.shared.id
    }

    /// The device.
    pub fn device(&self) -> &DeviceFacts {
        &self.shared.device
    }

    /// The driver's version.
    pub fn driver_version(&self) -> DriverVersion {
        self.shared.version
    }

    /// The number of modules that the driver failed to unload although the context existed.
    pub fn failed_unloads(&self) -> u64 {
        self.shared.failed_unloads.load(Ordering::Relaxed)
    }

    /// Loads a text or an image.
    pub(crate) fn load_raw(&self, image: &Image) -> Result<Loaded<D::Module>, CudaError> {
        let _span = tracing::debug_span!("module load", context = %self.id()).entered();
        let shared = &self.shared;
        // Options by name are for `ptxas`, which has obeyed them.
        let options = match (&self.assembler, image) {
            (Some(_), Image::Cubin(_)) => {
                &JitOptions { named: BTreeMap::new(), ..self.jit.options.clone() }
            }
            _ => &self.jit.options,
        };
        let loaded = shared.driver.load(&shared.context, image, options);
        loaded.map_err(|failure| self.explain(failure, image))
    }

    /// Assembles a text for the context's device with the driver's linker, or with the context's
    /// [own assembler](Self::assembled_by).
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), or of [`Ptxas::assemble`].
    pub fn assemble(&self, ptx: &Ptx) -> Result<Assembled, CudaError> {
        let _span = tracing::debug_span!("assembly", context = %self.id()).entered();
        let shared = &self.shared;
        if let Some(ptxas) = &self.assembler {
            return ptxas.assemble(ptx, self.jit.compute_capability, &self.jit.options);
        }
        shared
            .driver
            .assemble(&shared.context, ptx, &self.jit.options)
            .map_err(|failure| self.explain(failure, &Image::Ptx(ptx.clone())))
    }

    fn explain(&self, failure: Failure, image: &Image) -> CudaError {
        let (code, log) = match failure {
            Failure::Judged { code, log } => (code, log),
            Failure::Other(error) => return error,
        };
        let asked = Asked {
            assembler: format!("the CUDA driver {}", self.driver_version()),
            device: self.device().compute_capability,
            latest_isa: self.driver_version().latest_isa(),
        };
        match image {
            Image::Ptx(ptx) => refused_ptx(asked, Some(code), log, ptx),
            Image::Cubin(cubin) => refused_cubin(asked, code, log, cubin),
        }
        .into()
    }

    /// Unloads a module that nobody uses. There is no caller to return an error to, so failures are
    /// counted and traced.
    pub(crate) fn unload(&self, module: D::Module) {
        match self.shared.driver.unload(module) {
            Ok(()) => {}
            Err(CudaError::Driver { code, .. }) if code.context_is_gone() => {
                tracing::debug!(%code, context = %self.id(), "a module went with its context");
            }
            Err(error) => {
                // Relaxed: a count that publishes nothing else.
                self.shared.failed_unloads.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%error, context = %self.id(), "a module was not unloaded");
            }
        }
    }
}

impl<D: Driver> Clone for Context<D> {
    fn clone(&self) -> Self {
        let Self { shared, jit, assembler, shipped } = self;
        Self {
            shared: Arc::clone(shared),
            jit: Arc::clone(jit),
            assembler: assembler.clone(),
            shipped: Arc::clone(shipped),
        }
    }
}

impl<D: Driver> fmt::Debug for Context<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.id())
            .field("device", self.device())
            .field("driver_version", &self.driver_version())
            .field("jit", &self.jit)
            .finish_non_exhaustive()
    }
}
