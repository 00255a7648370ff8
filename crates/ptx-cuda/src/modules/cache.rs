//! The cache of loaded modules, by context and key.

use std::error::Error;
use std::sync::Arc;

use ptx_cache::{Cache, CacheError, Computed, Config, Entered, Served, Source, Store};
use ptx_key::{ModuleKey, PtxIsa};

use super::counts::ModuleSnapshot;
use super::keys::ModuleKeys;
use super::load::{Found, Loader, Lower, Wanted};
use super::module::Module;
use super::residents::{Outcome, ResidentKey, Residents};
use super::unload::share_retired;
use crate::{Context, ContextId, CudaError, Driver, Image, Ptxas};

/// A cache of loaded modules. It loads each module once, and unloads a retired one after its last
/// user drops.
///
/// An unload may wait for the device. So neither a hit nor the drop of a last user unloads: the
/// module waits for the next load, for [`unload_retired`](Self::unload_retired), or for the cache's
/// drop. Until then it takes device memory beyond the budget, so call `unload_retired` where the
/// program stops loading. Where the driver runs out of memory, in a load or in a first lookup, the
/// cache unloads the modules that wait, and then evicts idle modules of the device in the
/// retention's eviction order.
///
/// The cache remembers a [permanent](crate::Refused::is_permanent) refusal like a module. The key
/// contains the driver's version, so another driver is asked again, and so is the same driver where
/// the text or image [may be damaged](crate::Refused::may_be_damaged).
///
/// Modules keep their context: [`forget`](Self::forget) it before you drop it, then call
/// `unload_retired`.
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
    /// Drops after the cache, whose modules drop into its queue.
    loader: Loader<D>,
}

impl<D: Driver> ModuleCache<D> {
    /// An empty cache without a store of cubins: each process assembles texts again. The budget's
    /// bytes are [`Module::bytes`].
    pub fn new(config: Config) -> Self {
        let cache = Arc::new(Cache::new(config));
        Self { loader: Loader::new(Arc::downgrade(&cache)), cache }
    }

    /// The same cache, which looks in `store` before it assembles, and keeps new cubins there.
    /// Where the store coordinates, one process at a time assembles a module.
    ///
    /// No failure of the store fails a load: all are counted, and the first one is traced as a
    /// warning. Cubins of a driver of an unknown [build](Driver::build) are not kept: a later build
    /// would find them.
    #[must_use]
    pub fn with_cubins(mut self, store: Arc<dyn Store<ModuleKey>>) -> Self {
        self.loader.keep_in(store);
        self
    }

    /// The same cache, in which `ptxas` assembles texts of a PTX instruction set that the driver
    /// does not know.
    #[must_use]
    pub fn with_ptxas(mut self, ptxas: Arc<Ptxas>) -> Self {
        self.loader.rescue_by(ptxas);
        self
    }

    /// The module of `key` in `context`: resident, or loaded by another thread, or from the store
    /// of cubins, or loaded from what `image` returns: [`Ptx`](crate::Ptx), a
    /// [`Cubin`](crate::Cubin) or an [`Image`].
    ///
    /// `key` must be of this context's [`jit`](Context::jit) configuration, as
    /// [`Context::module_key`] makes it. `image` runs in this thread, outside every lock.
    ///
    /// # Errors
    ///
    /// `image`'s error, as it is where it is a [`CudaError`], else as [`CudaError::Source`];
    /// those of [`Context::load`]; and [`CudaError::Cache`] where a wait for another thread's load
    /// fails.
    ///
    /// # Panics
    ///
    /// Where `image` does, in this thread alone.
    pub fn get_or_load<I, E>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<Served<Module<D>>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.load_image(context, Wanted { key, others: &[] }, image)
    }

    /// [`get_or_load`](Self::get_or_load) that also looks for cubins that others assembled for this
    /// device or for one that it can replace: see [`ModuleKeys`].
    ///
    /// # Errors
    ///
    /// Those of [`get_or_load`](Self::get_or_load).
    pub fn get_or_load_any<I, E>(
        &self,
        context: &Context<D>,
        keys: &ModuleKeys,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<Served<Module<D>>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.load_image(context, Wanted { key: keys.own(), others: keys.others() }, image)
    }

    /// [`get_or_load`](Self::get_or_load) for a back end that can lower for an earlier PTX
    /// instruction set.
    ///
    /// `lower` is called with `None` first. Where the driver does not know the text's instruction
    /// set, and no [`ptxas`](Self::with_ptxas) does, it is called again with the latest that the
    /// driver knows. For one instruction set it must always return the same text.
    ///
    /// # Errors
    ///
    /// Those of [`get_or_load`](Self::get_or_load).
    pub fn get_or_lower<I, E>(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        mut lower: impl FnMut(Option<PtxIsa>) -> Result<I, E>,
    ) -> Result<Served<Module<D>>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.get_or_compute(context, Wanted { key, others: &[] }, &mut |isa| {
            Ok(Some(lower(isa).map_err(CudaError::from_source)?.into()))
        })
    }

    fn load_image<I, E>(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        image: impl FnOnce() -> Result<I, E>,
    ) -> Result<Served<Module<D>>, CudaError>
    where
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut image = Some(image);
        self.get_or_compute(context, wanted, &mut |isa| match (isa, image.take()) {
            (None, Some(image)) => Ok(Some(image().map_err(CudaError::from_source)?.into())),
            _ => Ok(None),
        })
    }

    fn get_or_compute(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        lower: &mut Lower<'_>,
    ) -> Result<Served<Module<D>>, CudaError> {
        let resident = ResidentKey { context: context.id(), module: *wanted.key };
        let lead = match self.cache.enter(resident).map_err(own_error)? {
            Entered::Served(Served { value, source }) => {
                return Ok(Served { value: value.module()?, source });
            }
            Entered::Lead(lead) => lead,
        };
        let (computed, source) = match self.loader.load(context, wanted, lower) {
            Ok(Found { module, source, cost, in_lower_tier }) => {
                let loaded = Computed::from(Outcome::Loaded(module));
                (Computed { cost: Some(cost), in_lower_tier, ..loaded }, source)
            }
            // The next copy of a damaged text or image may be whole.
            Err(CudaError::Refused(refused))
                if refused.is_permanent() && !refused.may_be_damaged() =>
            {
                (Computed::from(Outcome::Refused(refused)), Source::Computed)
            }
            Err(error) => return Err(own_error(lead.fail(error))),
        };
        let outcome = lead.publish(computed).value;
        share_retired();
        Ok(Served { value: outcome.module()?, source })
    }

    /// Unloads the retired modules that nobody uses, and returns their number. This may wait for
    /// the device.
    ///
    /// A module that another thread's hit may still read is left for a later call.
    pub fn unload_retired(&self) -> usize {
        self.loader.unload_retired()
    }

    /// Waits until the store has taken or refused every cubin that was assembled so far. The
    /// cache's drop waits too; call this where the program exits without it.
    pub fn flush(&self) {
        self.loader.flush();
    }

    /// The module of `key` in `context`, if it is resident.
    #[inline]
    pub fn get(&self, context: &Context<D>, key: &ModuleKey) -> Option<Module<D>> {
        self.with(context, key, Module::clone)
    }

    /// Gives the module of `key` to `read`, if it is resident. This clones nothing, so many cores
    /// may launch one hot function, and none writes what the others read. A running kernel is no
    /// user of its module: see [`Module`].
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

    /// Removes the module of `key`, or its remembered refusal. Returns true if it was present.
    pub fn remove(&self, context: ContextId, key: &ModuleKey) -> bool {
        self.cache.remove(&ResidentKey { context, module: *key }).is_some()
    }

    /// Removes the entries of a context that are resident now, and returns their number.
    pub fn forget(&self, context: ContextId) -> usize {
        let entries = self.cache.entries();
        let of_context = entries.iter().filter(|entry| entry.key.context == context);
        of_context.filter(|entry| self.cache.remove(&entry.key).is_some()).count()
    }

    /// Removes all entries, and sets the counts to zero.
    pub fn clear(&self) {
        self.cache.clear();
        self.loader.clear_counts();
    }

    /// Changes the settings. Where the budget shrinks, this evicts before it returns.
    pub fn reconfigure(&self, config: Config) {
        self.cache.reconfigure(config);
        share_retired();
    }

    /// The resident entries, in no order.
    pub fn entries(&self) -> Vec<ptx_cache::EntryReport<ResidentKey>> {
        self.cache.entries()
    }

    /// What the cache has and did.
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
