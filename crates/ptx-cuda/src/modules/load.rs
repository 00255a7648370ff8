//! How one module is loaded: from the store of cubins, from a new cubin, or from the text itself.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ptx_cache::{CacheError, Claim, CubinArtifact, Source, Store};
use ptx_key::{ModuleKey, PtxIsa};

use super::counts::{LoadCounts, ModuleSnapshot};
use super::module::Module;
use super::residents::Residents;
use super::room::Room;
use super::store::GuardedStore;
use super::writer::CubinWriter;
use crate::{Assembled, Context, Cubin, CudaError, Driver, Image, JitLog, Ptx, Ptxas};

/// Why the store keeps nothing that the driver assembles.
const UNKNOWN_BUILD: &str = "the driver's build is unknown, and a later build would find what this \
                             one assembled; assemble with ptxas to keep cubins";

/// Returns the text or image, or lowers again for an earlier instruction set. `None` where it
/// cannot lower again.
pub(crate) type Lower<'l> = dyn FnMut(Option<PtxIsa>) -> Result<Option<Image>, CudaError> + 'l;

/// What the loads of one cache share.
pub(crate) struct Loader<D: Driver> {
    cubins: Option<CubinWriter>,
    /// Assembles texts that the driver is too old for.
    ptxas: Option<Arc<Ptxas>>,
    counts: Arc<LoadCounts>,
    room: Arc<Room<D>>,
    /// Is told how long loads take.
    residents: Weak<Residents<D>>,
}

/// A module that was loaded now.
pub(crate) struct Found<D: Driver> {
    pub(crate) module: Module<D>,
    pub(crate) source: Source,
    /// What computing it again would take.
    pub(crate) cost: Duration,
    /// True if the next request finds its cubin in the store.
    pub(crate) in_lower_tier: bool,
}

/// The keys of a requested module.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    pub(crate) key: &'w ModuleKey,
    /// The keys of other cubins that would do, best first.
    pub(crate) others: &'w [ModuleKey],
}

impl<D: Driver> Drop for Loader<D> {
    /// The cache is gone: no later load unloads what waits.
    fn drop(&mut self) {
        self.room.queue().close();
    }
}

impl<D: Driver> Loader<D> {
    pub(crate) fn new(residents: Weak<Residents<D>>) -> Self {
        let room = Room::new(Weak::<Residents<D>>::clone(&residents));
        Self { cubins: None, ptxas: None, counts: Arc::default(), room, residents }
    }

    pub(crate) fn keep_in(&mut self, store: Arc<dyn Store<ModuleKey>>) {
        let store = GuardedStore::new(store, Arc::clone(&self.counts));
        self.cubins = Some(CubinWriter::new(store));
    }

    /// The name of the store.
    fn tier(&self) -> Arc<str> {
        self.cubins.as_ref().map_or_else(|| "".into(), |cubins| cubins.store().name())
    }

    pub(crate) fn rescue_by(&mut self, ptxas: Arc<Ptxas>) {
        self.ptxas = Some(ptxas);
    }

    pub(crate) fn unload_retired(&self) -> usize {
        self.room.queue().unload_retired()
    }

    pub(crate) fn flush(&self) {
        self.cubins.iter().for_each(CubinWriter::flush);
    }

    pub(crate) fn clear_counts(&self) {
        self.counts.clear();
    }

    /// A snapshot of everything but the residents.
    pub(crate) fn snapshot(&self) -> ModuleSnapshot {
        let (retired, cubins) = (self.room.queue().content(), self.counts.snapshot());
        ModuleSnapshot { retired, cubins, ..ModuleSnapshot::default() }
    }

    /// Loads a module.
    ///
    /// 1. Unload the retired modules: their memory may be needed.
    /// 2. Look in the store for the key's own cubin, then for another that would do.
    /// 3. Claim the key, so that one process assembles it.
    /// 4. Assemble the text, load the cubin, and store it.
    /// 5. Where the driver does not know the text's instruction set, assemble with `ptxas`, or
    ///    lower again.
    pub(crate) fn load(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        lower: &mut Lower<'_>,
    ) -> Result<Found<D>, CudaError> {
        self.unload_retired();
        let mut load = Load::new(self, context, wanted.key);
        if let Some(found) = load.stored()? {
            return Ok(found);
        }
        if let Some(found) = load.first_of(wanted.others)? {
            return Ok(found);
        }
        if let Some(found) = load.claim()? {
            return Ok(found);
        }
        // The first call always returns an image.
        let image = lower(None)?.ok_or(CudaError::Cache(CacheError::Panicked))?;
        let Image::Ptx(ptx) = &image else {
            return load.given(&image);
        };
        let loaded = match load.text(ptx) {
            Err(error) if error.is_unsupported_isa() => load.rescue(ptx, error, lower),
            loaded => loaded,
        };
        loaded.map_err(|error| match load.passing {
            // A remembered refusal would outlast the passing failure.
            Some(passing) if error.is_permanent() => passing,
            _ => error,
        })
    }
}

/// The state of one load.
struct Load<'l, D: Driver> {
    loader: &'l Loader<D>,
    context: &'l Context<D>,
    key: &'l ModuleKey,
    /// The store, if it may keep what the context's assembler makes.
    cubins: Option<&'l CubinWriter>,
    /// Held until the new cubin is stored.
    claim: Option<Box<dyn Send>>,
    /// An offline assembler's failure that may not happen again.
    passing: Option<CudaError>,
    /// A stored cubin that the driver refused for an unclear reason. It is removed once the driver
    /// takes another.
    suspect: Option<Arc<[u8]>>,
}

impl<'l, D: Driver> Load<'l, D> {
    fn new(loader: &'l Loader<D>, context: &'l Context<D>, key: &'l ModuleKey) -> Self {
        let is_exact = context.jit().assembler.is_exact();
        if loader.cubins.is_some() && !is_exact {
            loader.counts.warn(UNKNOWN_BUILD);
        }
        let cubins = loader.cubins.as_ref().filter(|_| is_exact);
        Self { loader, context, key, cubins, claim: None, passing: None, suspect: None }
    }

    /// Loads the key's cubin from the store.
    fn stored(&mut self) -> Result<Option<Found<D>>, CudaError> {
        let started = Instant::now();
        match self.cubins.and_then(|cubins| cubins.store().load(self.key)) {
            Some(stored) => self.take_or_remove(&stored, started),
            None => Ok(None),
        }
    }

    /// Loads the first of these stored cubins that the driver takes. The others stay in the store:
    /// they are for other devices.
    fn first_of(&self, keys: &[ModuleKey]) -> Result<Option<Found<D>>, CudaError> {
        let Some(cubins) = &self.loader.cubins else { return Ok(None) };
        for key in keys {
            let started = Instant::now();
            if let Some(stored) = cubins.store().load(key) {
                match self.take(&stored, started) {
                    Ok(found) => return Ok(Some(found)),
                    Err(error) => self.count_refused(error)?,
                }
            }
        }
        Ok(None)
    }

    /// Claims the key, or loads the cubin that another process published meanwhile.
    fn claim(&mut self) -> Result<Option<Found<D>>, CudaError> {
        let Some(cubins) = self.cubins else { return Ok(None) };
        match cubins.store().claim(self.key) {
            Claim::Held(claim) => self.claim = Some(claim),
            Claim::Published(stored) => return self.take_or_remove(&stored, Instant::now()),
            Claim::NotCoordinated => {}
        }
        Ok(None)
    }

    /// Loads a stored cubin, or removes it where the driver refuses it.
    fn take_or_remove(
        &mut self,
        stored: &CubinArtifact,
        started: Instant,
    ) -> Result<Option<Found<D>>, CudaError> {
        let error = match self.take(stored, started) {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        if !error.blames_image() {
            self.suspect = Some(Arc::clone(&stored.payload));
        } else if let Some(cubins) = self.cubins {
            cubins.store().remove_if_payload(self.key, &stored.payload);
        }
        self.count_refused(error).map(|()| None)
    }

    /// Loads a stored cubin.
    fn take(&self, stored: &CubinArtifact, started: Instant) -> Result<Found<D>, CudaError> {
        let cubin = Cubin::new(Arc::clone(&stored.payload))?;
        let module = self.image(&cubin.into(), &JitLog::default())?;
        let took = started.elapsed();
        self.loader.counts.hits.add(took);
        if let Some(residents) = self.loader.residents.upgrade() {
            residents.note_load(took);
        }
        let cost = stored.cost.max(took);
        let source = Source::Tier(self.loader.tier());
        Ok(Found { module, source, cost, in_lower_tier: true })
    }

    /// Counts a refused cubin, and goes on: it says nothing about the module. Any other error is
    /// returned.
    fn count_refused(&self, error: CudaError) -> Result<(), CudaError> {
        if !error.may_blame_image() {
            return Err(error);
        }
        self.loader.counts.refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%error, "the driver refused a cubin; the cache looks elsewhere");
        Ok(())
    }

    /// Loads an image, and unloads other modules where memory runs out.
    fn image(&self, image: &Image, assembly: &JitLog) -> Result<Module<D>, CudaError> {
        let room = &self.loader.room;
        room.retry(self.context.id().device, image.device_bytes(), || {
            self.context.load_for(Some(room), image, assembly)
        })
    }

    /// Loads an image as it is given.
    fn given(&self, image: &Image) -> Result<Found<D>, CudaError> {
        let started = Instant::now();
        let module = self.image(image, &JitLog::default())?;
        let cost = started.elapsed();
        self.loader.counts.given.add(cost);
        Ok(Found { module, source: Source::Computed, cost, in_lower_tier: false })
    }

    /// Assembles and loads a text, or loads it as it is where that fails.
    fn text(&mut self, ptx: &Ptx) -> Result<Found<D>, CudaError> {
        let image = Image::Ptx(ptx.clone());
        // The text may be cut off before its first kernel: its cubin is not stored.
        if ptx.kernels().next().is_none() {
            return self.given(&image);
        }
        let by_driver = self.context.driver_assembles();
        let started = Instant::now();
        match self.assemble(ptx) {
            Ok(assembled) => match self.assembled(ptx, assembled, started)? {
                Some(found) => Ok(found),
                None => self.given(&image),
            },
            // The driver's load would refuse the text too.
            Err(error) if by_driver && error.is_permanent() => Err(error),
            Err(error) => self.given(&image).map_err(|second| match second {
                // Options by name are for `ptxas` alone: the driver has not seen the text.
                CudaError::UnsupportedOption { .. } => error,
                second => {
                    if !by_driver && !error.is_permanent() {
                        self.passing = Some(error);
                    }
                    second
                }
            }),
        }
    }

    /// Assembles a text, also without a store: linkers work in parallel, but an assembly within a
    /// driver's load blocks every other load of the process.
    fn assemble(&self, ptx: &Ptx) -> Result<Assembled, CudaError> {
        let assemble = || self.context.assemble(ptx);
        if !self.context.driver_assembles() {
            return assemble();
        }
        self.loader.room.retry(self.context.id().device, ptx.text().len() as u64, assemble)
    }

    /// Loads a new cubin and stores it. Returns `None` where the driver refuses it.
    fn assembled(
        &mut self,
        ptx: &Ptx,
        Assembled { cubin, log }: Assembled,
        started: Instant,
    ) -> Result<Option<Found<D>>, CudaError> {
        let (image, assembly) = (Arc::clone(cubin.image()), started.elapsed());
        let module = match self.image(&cubin.into(), &log) {
            Ok(module) => module,
            Err(error) => return self.count_refused(error).map(|()| None),
        };
        let cost = started.elapsed();
        self.loader.counts.assembled.add(cost);
        let in_lower_tier = self.cubins.is_some_and(|cubins| cubins.store().is_writable());
        if let Some(cubins) = self.cubins {
            if let Some(suspect) = self.suspect.take().filter(|suspect| *suspect != image) {
                cubins.store().remove_if_payload(self.key, &suspect);
            }
            let mut artifact = CubinArtifact::new(image).with_cost(assembly);
            artifact.attributes = ptx.cubin_attributes(&log);
            cubins.write(*self.key, artifact, self.claim.take());
        }
        Ok(Some(Found { module, source: Source::Computed, cost, in_lower_tier }))
    }

    /// Loads a text of an instruction set that the driver does not know: assembled by `ptxas`, or
    /// lowered again for the latest that the driver knows.
    fn rescue(
        &mut self,
        ptx: &Ptx,
        error: CudaError,
        lower: &mut Lower<'_>,
    ) -> Result<Found<D>, CudaError> {
        let offline = self.offline(ptx).unwrap_or_else(|passing| {
            self.passing = Some(passing);
            None
        });
        let latest = error.refused().and_then(|refused| refused.supported_isa);
        let found = match (offline, latest) {
            // The next request lowers the text again before it finds the cubin.
            (Some(found), _) => Found { in_lower_tier: false, ..found },
            (None, Some(latest)) => match lower(Some(latest))? {
                Some(Image::Ptx(ptx)) => self.text(&ptx)?,
                Some(image) => self.given(&image)?,
                None => return Err(error),
            },
            (None, None) => return Err(error),
        };
        self.loader.counts.rescued.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    /// Assembles a text with `ptxas`, under the key of `ptxas`: the request's key names a driver
    /// that cannot make the cubin. Returns `None` where there is no `ptxas` that can, and an error
    /// where a retry may help.
    fn offline(&mut self, ptx: &Ptx) -> Result<Option<Found<D>>, CudaError> {
        let ptxas = self.loader.ptxas.as_ref().filter(|_| self.context.driver_assembles());
        let Some(ptxas) = ptxas else { return Ok(None) };
        let context = self.context.assembled_by(ptxas);
        let key = context.module_key_of_text(ptx.text());
        let mut load = Load::new(self.loader, &context, &key);
        if let Some(found) = load.stored()? {
            return Ok(Some(found));
        }
        let started = Instant::now();
        match context.assemble(ptx) {
            Ok(assembled) => {
                load.claim = self.claim.take();
                load.assembled(ptx, assembled, started)
            }
            Err(error) if error.is_permanent() => {
                tracing::debug!(%error, "ptxas refuses the text too");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
