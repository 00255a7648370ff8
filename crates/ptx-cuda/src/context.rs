//! A context with the JIT options that modules are loaded with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_key::{Assembler, Digest, JitConfiguration, JitOptions, ModuleKey, PtxKey};

use crate::refused::Asked;
use crate::unload_queue::UnloadQueue;
use crate::{
    Assembled, ContextId, CudaError, DeviceFacts, Driver, DriverVersion, Failure, Image, JitLog,
    Loaded, Module, ModuleKeys, Ptx, Ptxas, Refused,
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
    /// [`CudaError::Driver`] where there is no such device, or its context cannot be had.
    pub fn primary(driver: &Arc<D>, device: u32) -> Result<Self, CudaError> {
        Self::new(driver, driver.primary_context(device)?)
    }

    /// A context of its own on a device, with the driver's default options.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where there is no such device, or no more contexts can be had.
    pub fn own(driver: &Arc<D>, device: u32) -> Result<Self, CudaError> {
        Self::new(driver, driver.own_context(device)?)
    }

    /// A context that the driver object has already, with the driver's default options.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver says nothing of the device.
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

    /// The same context, whose texts a cache has an offline assembler assemble and not the driver.
    /// The keys are other ones.
    #[must_use]
    pub fn assembled_by(&self, assembler: &Arc<Ptxas>) -> Self {
        let jit = assembler.jit(self.jit.compute_capability, self.jit.options.clone());
        Self { jit: Arc::new(jit), assembler: Some(Arc::clone(assembler)), ..self.clone() }
    }

    /// The same context, for which cubins of these offline assemblers are looked for too: what an
    /// application ships, made on another machine. The tools, which [`Ptxas::fingerprint`] names,
    /// need not be here.
    #[must_use]
    pub fn with_shipped(&self, fingerprints: &[Digest]) -> Self {
        Self { shipped: fingerprints.into(), ..self.clone() }
    }

    /// The keys under which a store may hold a lowering's module. Worth keeping: each costs a
    /// SHA-256.
    pub fn module_keys(&self, lowering: &PtxKey) -> ModuleKeys {
        ModuleKeys::new(&self.jit, &self.shipped, |jit| jit.key_of_lowering(lowering))
    }

    /// The keys under which a store may hold a text's module.
    pub fn module_keys_of_text(&self, text: &str) -> ModuleKeys {
        ModuleKeys::new(&self.jit, &self.shipped, |jit| jit.key_of_text(text))
    }

    /// Whether the driver assembles this context's texts.
    pub(crate) fn driver_assembles(&self) -> bool {
        self.assembler.is_none()
    }

    /// What decides, beside the text, which machine code is loaded.
    pub fn jit(&self) -> &JitConfiguration {
        &self.jit
    }

    /// The key of a lowering's module in this configuration. Worth keeping: it costs a SHA-256.
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

    /// The driver's own context.
    pub fn raw(&self) -> &D::Context {
        &self.shared.context
    }

    /// Which context this is.
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

    /// Modules of this context that the driver did not unload when their last user dropped,
    /// although the context was there.
    pub fn failed_unloads(&self) -> u64 {
        self.shared.failed_unloads.load(Ordering::Relaxed)
    }

    /// Loads a module. No cache is asked: see [`ModuleCache`](crate::ModuleCache). The driver
    /// assembles a text itself here, whoever else [would](Self::assembled_by).
    ///
    /// # Errors
    ///
    /// [`CudaError::Refused`] where the driver refuses the text or image, and what else the
    /// driver's call returns.
    pub fn load(&self, image: &Image) -> Result<Module<D>, CudaError> {
        self.load_into(image, &JitLog::default(), None)
    }

    /// [`load`](Self::load) of what an assembler made and said, for the cache whose queue this is.
    pub(crate) fn load_into(
        &self,
        image: &Image,
        assembly: &JitLog,
        queue: Option<&Arc<UnloadQueue<D>>>,
    ) -> Result<Module<D>, CudaError> {
        let _span = tracing::debug_span!("module load", context = %self.id()).entered();
        let shared = &self.shared;
        // Options by name were obeyed when `ptxas` assembled.
        let options = match (&self.assembler, image) {
            (Some(_), Image::Cubin(_)) => {
                &JitOptions { named: BTreeMap::new(), ..self.jit.options.clone() }
            }
            _ => &self.jit.options,
        };
        match shared.driver.load(&shared.context, image, options) {
            Ok(Loaded { module, log }) => {
                let loaded = Loaded { module, log: assembly.followed_by(&log) };
                Ok(Module::new(self.clone(), loaded, image, queue))
            }
            Err(failure) => Err(self.explain(failure, image)),
        }
    }

    /// Assembles a text for the context's device with the driver's linker, or
    /// [otherwise](Self::assembled_by).
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), or as [`Ptxas::assemble`].
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
            Image::Ptx(ptx) => Refused::ptx(asked, Some(code), log, ptx),
            Image::Cubin(cubin) => Refused::cubin(asked, code, log, cubin),
        }
        .into()
    }

    /// Unloads a module that nobody uses any more. Nobody waits for the answer: it reports and goes
    /// on.
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
