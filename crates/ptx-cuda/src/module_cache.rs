//! Loaded modules by context and key.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ptx_cache::{Cache, CacheError, Config, CubinStore, Made, Origin, Resident, Snapshot};
use ptx_key::{ModuleKey, PtxIsa};

use crate::loader::{Loader, Lower, Wanted};
use crate::residents::{Outcome, Residents};
use crate::unload_queue::share_retired;
use crate::{
    Context, ContextId, CubinSnapshot, CudaError, Driver, Image, Module, ModuleKeys, Ptxas,
    ResidentKey,
};

/// Loaded modules, each loaded once for all who ask, and unloaded once retired here and dropped
/// by its last user.
///
/// To unload may wait for the device. So neither a hit nor the drop of a last user does it: a
/// module that nobody uses any more waits for the next load, for
/// [`unload_retired`](Self::unload_retired), or for the cache's end. What waits still takes device
/// memory, beyond the budget: a program that stops loading calls `unload_retired` at a moment of
/// its own. Where the driver runs out of memory, in a load or in a first lookup, what waits is
/// unloaded, and then modules of the same device that nobody uses are taken out and unloaded, those
/// first that the retention would have go first.
///
/// A refusal that [will not change](crate::Refused::is_permanent) is remembered like a module: the
/// driver is not asked again. Its key holds the driver's version, so another driver is. What
/// [may be damaged](crate::Refused::may_be_damaged) is asked for again.
///
/// Modules keep their context: [`forget`](Self::forget) it before it is to go, and have what that
/// retired unloaded.
///
/// ```
/// use ptx_cuda::{Config, Context, ModuleCache, Ptx, RecordingDriver};
///
/// let driver = RecordingDriver::new();
/// let context = Context::primary(&driver, 0)?;
/// let modules = ModuleCache::new(Config::default());
///
/// let text = ".version 9.0\n.target sm_90\n.visible .entry saxpy() { ret; }\n";
/// let key = context.module_key_of_text(text);
/// let saxpy = modules.get_or_load(&context, &key, || Ptx::new(text))?.function("saxpy")?;
/// // The second request does not call the closure.
/// let again = modules.get_or_load(&context, &key, || Ptx::new("never read"))?;
/// assert_eq!(again.function("saxpy")?.raw(), saxpy.raw());
/// # Ok::<(), ptx_cuda::CudaError>(())
/// ```
pub struct ModuleCache<D: Driver> {
    cache: Arc<Residents<D>>,
    /// Behind the cache, whose modules drop into its queue.
    loader: Loader<D>,
}

/// What a cache of modules has and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleSnapshot {
    /// Resident modules, and requests. Remembered refusals count as entries.
    pub memory: Snapshot,
    /// Modules that are retired and not yet unloaded, since nobody has loaded anything since their
    /// last user dropped. Their bytes are not in the budget.
    pub retired: Resident,
    /// What was loaded, from where.
    pub cubins: CubinSnapshot,
}

/// A module, and where it came from.
pub struct ServedModule<D: Driver> {
    /// The module.
    pub module: Module<D>,
    /// Where it came from.
    pub source: ModuleSource,
}

impl<D: Driver> fmt::Debug for ServedModule<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, source } = self;
        f.debug_struct("ServedModule").field("module", module).field("source", source).finish()
    }
}

/// Where a module came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleSource {
    /// It was resident.
    Memory,
    /// Another thread was loading it; this request waited.
    Coalesced,
    /// A stored cubin.
    Cubin,
    /// A text that this request assembled to a cubin.
    Assembled,
    /// What the caller gave, loaded as it is.
    Given,
}

impl<D: Driver> ModuleCache<D> {
    /// An empty cache with no store of cubins: texts are assembled anew in each process. The
    /// budget's bytes are [`Module::bytes`].
    pub fn new(config: Config) -> Self {
        let cache = Arc::new(Cache::new(config));
        Self { loader: Loader::new(Arc::downgrade(&cache)), cache }
    }

    /// The same cache, which keeps what it assembles in `store` and looks there before it
    /// assembles. One process at a time assembles a module, where the store coordinates.
    ///
    /// Nothing that the store does fails a load: the first failure is a warning, and all are
    /// counted. Cubins of a driver whose [build](Driver::build) is not known are not kept, since
    /// an upgrade would find them.
    #[must_use]
    pub fn with_cubins(mut self, store: Arc<dyn CubinStore>) -> Self {
        self.loader.keep_in(store);
        self
    }

    /// The same cache, which has `ptxas` assemble texts of a PTX instruction set that the driver
    /// does not know.
    #[must_use]
    pub fn with_ptxas(mut self, ptxas: Arc<Ptxas>) -> Self {
        self.loader.rescue_by(ptxas);
        self
    }

    /// The module of `key` in `context`: resident, or from another thread that is loading it, or
    /// from the store of cubins, or loaded from what `image` gives: [`Ptx`](crate::Ptx), a
    /// [`Cubin`](crate::Cubin) or an [`Image`].
    ///
    /// `key` must be of this context's [`jit`](Context::jit) configuration:
    /// [`Context::module_key`] makes it. `image` runs in this thread, outside every lock.
    ///
    /// # Errors
    ///
    /// `image`'s error, as it is where it is a [`CudaError`], else as [`CudaError::Source`];
    /// those of [`Context::load`]; and [`CudaError::Cache`] where waiting for another's load
    /// could not end well.
    ///
    /// # Panics
    ///
    /// Where `image` does, in this thread alone.
    pub fn get_or_load<I, E>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<Module<D>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve(context, key, image).map(|served| served.module)
    }

    /// [`get_or_load`](Self::get_or_load), with where the module came from.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn serve<I, E>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<ServedModule<D>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve_image(context, Wanted { key, others: &[] }, image)
    }

    /// [`serve`](Self::serve), with a look for cubins that others made for this device or one
    /// that it stands in for: see [`ModuleKeys`].
    ///
    /// # Errors
    ///
    /// As [`get_or_load`](Self::get_or_load).
    pub fn serve_any<I, E>(
        &self,
        context: &Context<D>,
        keys: &ModuleKeys,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<ServedModule<D>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve_image(context, Wanted { key: keys.own(), others: keys.others() }, image)
    }

    fn serve_image<I, E>(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<ServedModule<D>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut image = Some(image);
        self.serve_source(context, wanted, &mut |isa| match (isa, image.take()) {
            (None, Some(image)) => Ok(Some(image().map_err(CudaError::from_source)?.into())),
            _ => Ok(None),
        })
    }

    /// [`serve`](Self::serve) for a back end that can lower for an earlier PTX instruction set.
    ///
    /// `lower` is called with `None` first. Where the driver does not know the instruction set of
    /// what comes, and no `ptxas` [is there](Self::with_ptxas) that does, it is called once more
    /// with the latest that the driver knows. It must then always give the same text for that.
    ///
    /// # Errors
    ///
    /// As [`get_or_load`](Self::get_or_load).
    pub fn serve_lowered<I, E>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        mut lower: impl FnMut(Option<PtxIsa>) -> Result<I, E>,
    ) -> Result<ServedModule<D>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve_source(context, Wanted { key, others: &[] }, &mut |isa| {
            Ok(Some(lower(isa).map_err(CudaError::from_source)?.into()))
        })
    }

    fn serve_source(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        lower: &mut Lower<'_>,
    ) -> Result<ServedModule<D>, CudaError> {
        let resident = ResidentKey { context: context.id(), module: *wanted.key };
        let mut made_from = ModuleSource::Given;
        let load = || match self.loader.load(context, wanted, lower) {
            Ok(found) => {
                made_from = found.source;
                Ok(Made {
                    cost: Some(found.cost),
                    is_held_below: found.is_held_below,
                    ..Made::new(Outcome::Loaded(found.module))
                })
            }
            // Of what was damaged the next copy may be whole.
            Err(CudaError::Refused(refused))
                if refused.is_permanent() && !refused.may_be_damaged() =>
            {
                Ok(Made::new(Outcome::Refused(refused)))
            }
            Err(error) => Err(error),
        };
        let served = self.cache.get_or_make(resident, load).map_err(own_error)?;
        if served.origin == Origin::Made {
            share_retired();
        }
        let source = match served.origin {
            Origin::Memory => ModuleSource::Memory,
            Origin::Coalesced => ModuleSource::Coalesced,
            Origin::Made => made_from,
        };
        Ok(ServedModule { module: served.value.module()?, source })
    }

    /// Unloads the modules that are retired and whose last user has dropped; how many. This may
    /// wait for the device.
    ///
    /// What another thread may still be looking at is not among them: it comes when that thread
    /// has gone on.
    pub fn unload_retired(&self) -> usize {
        self.loader.unload_retired()
    }

    /// Waits until every cubin that was assembled so far is in the store, or was refused by it.
    /// The cache's end waits too; a program that ends without it calls this.
    pub fn flush(&self) {
        self.loader.flush();
    }

    /// The module of `key` in `context`, if it is resident.
    #[inline]
    pub fn get(&self, context: &Context<D>, key: &ModuleKey) -> Option<Module<D>> {
        self.with(context, key, Module::clone)
    }

    /// Gives the module of `key` to `read`, if it is resident. Nothing is cloned, so many cores
    /// may launch one hot function and none writes a line that the others read. A kernel that runs
    /// on is no user of its module: see [`Module`].
    #[inline]
    pub fn with<R>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        read: impl FnOnce(&Module<D>) -> R,
    ) -> Option<R> {
        let resident = ResidentKey { context: context.id(), module: *key };
        self.cache.with(&resident, |outcome| match outcome {
            Outcome::Loaded(module) => Some(read(module)),
            Outcome::Refused(_) => None,
        })?
    }

    /// Takes out the module of `key`, or the refusal that is remembered for it; whether there was
    /// one.
    pub fn remove(&self, context: ContextId, key: &ModuleKey) -> bool {
        self.cache.remove(&ResidentKey { context, module: *key }).is_some()
    }

    /// Takes out everything of a context that is resident when this is called; how much that was.
    pub fn forget(&self, context: ContextId) -> usize {
        let entries = self.cache.entries();
        let of_context = entries.iter().filter(|entry| entry.key.context == context);
        of_context.filter(|entry| self.cache.remove(&entry.key).is_some()).count()
    }

    /// Takes out everything, and sets the counts to zero.
    pub fn clear(&self) {
        self.cache.clear();
        self.loader.clear_counts();
    }

    /// Changes the settings. A smaller budget is met before this returns.
    pub fn reconfigure(&self, config: Config) {
        self.cache.reconfigure(config);
        share_retired();
    }

    /// What is resident, in no order.
    pub fn entries(&self) -> Vec<ptx_cache::EntryReport<ResidentKey>> {
        self.cache.entries()
    }

    /// What the cache has, and what it did so far.
    pub fn snapshot(&self) -> ModuleSnapshot {
        ModuleSnapshot { memory: self.cache.snapshot(), ..self.loader.snapshot() }
    }
}

fn own_error(error: CacheError) -> CudaError {
    match error.lowering_error::<CudaError>() {
        Some(own) => own.clone(),
        None => CudaError::Cache(error),
    }
}

#[cfg(test)]
mod tests;
