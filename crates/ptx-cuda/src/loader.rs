//! How a module comes to be loaded that is not resident: from the store of cubins, from a text
//! that is assembled and stored, or as it was given.

mod rescue;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ptx_cache::{CubinStore, StoredCubin};
use ptx_key::{ModuleKey, PtxIsa};

use crate::cubins::{Cubins, LoadCounts};
use crate::residents::Residents;
use crate::unload_queue::UnloadQueue;
use crate::{
    Assembled, Context, Cubin, CudaError, Driver, Image, JitLog, Module, ModuleSnapshot,
    ModuleSource, Ptx, Ptxas,
};

/// Why what the driver assembles is not kept.
const UNKNOWN_BUILD: &str = "the driver does not say which build it is, and an upgrade would find \
                             what this one assembled; assemble with ptxas to keep cubins";

/// Gives a text or an image, or lowers once more for an earlier instruction set. `None` where it
/// cannot.
pub(crate) type Lower<'l> = dyn FnMut(Option<PtxIsa>) -> Result<Option<Image>, CudaError> + 'l;

/// What loads for one cache.
pub(crate) struct Loader<D: Driver> {
    cubins: Option<Cubins>,
    /// Assembles what the driver is too old for.
    ptxas: Option<Arc<Ptxas>>,
    counts: Arc<LoadCounts>,
    queue: Arc<UnloadQueue<D>>,
    /// Hears what loads take.
    residents: Weak<Residents<D>>,
}

/// A module that was loaded now.
pub(crate) struct Found<D: Driver> {
    pub(crate) module: Module<D>,
    pub(crate) source: ModuleSource,
    /// What it would take to make it anew.
    pub(crate) cost: Duration,
    /// Whether the next request finds its cubin in the store.
    pub(crate) is_held_below: bool,
}

/// Which module is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    pub(crate) key: &'w ModuleKey,
    /// Keys of other cubins that would do, best first.
    pub(crate) others: &'w [ModuleKey],
}

/// What one load has come to.
#[derive(Default)]
struct Attempt {
    /// The claim on the key, until what was assembled is kept.
    claim: Option<Box<dyn Send>>,
    /// What kept an offline assembler from its work, and may not the next time.
    passing: Option<CudaError>,
    /// A stored cubin that the driver refused without saying that it is to blame. It goes where the
    /// driver then takes another.
    doubtful: Option<Arc<[u8]>>,
}

/// No cache is left when this drops, so nothing waits for a later load.
impl<D: Driver> Drop for Loader<D> {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl<D: Driver> Loader<D> {
    pub(crate) fn new(residents: Weak<Residents<D>>) -> Self {
        let queue = Arc::new(UnloadQueue::new(Weak::clone(&residents)));
        let counts = Arc::default();
        Self { cubins: None, ptxas: None, counts, queue, residents }
    }

    pub(crate) fn keep_in(&mut self, store: Arc<dyn CubinStore>) {
        self.cubins = Some(Cubins::new(store, Arc::clone(&self.counts)));
    }

    pub(crate) fn rescue_by(&mut self, ptxas: Arc<Ptxas>) {
        self.ptxas = Some(ptxas);
    }

    pub(crate) fn unload_retired(&self) -> usize {
        self.queue.unload_retired()
    }

    pub(crate) fn flush(&self) {
        self.cubins.iter().for_each(Cubins::flush);
    }

    pub(crate) fn clear_counts(&self) {
        self.counts.clear();
    }

    /// All but what is resident.
    pub(crate) fn snapshot(&self) -> ModuleSnapshot {
        let (retired, cubins) = (self.queue.content(), self.counts.snapshot());
        ModuleSnapshot { retired, cubins, ..ModuleSnapshot::default() }
    }

    /// Loads the module of `key`, after unloading what nobody uses any more: its memory may be
    /// needed.
    pub(crate) fn load(
        &self,
        context: &Context<D>,
        wanted: Wanted<'_>,
        lower: &mut Lower<'_>,
    ) -> Result<Found<D>, CudaError> {
        self.unload_retired();
        let Wanted { key, others } = wanted;
        let mut attempt = Attempt::default();
        let cubins = self.cubins_of(context);
        if let Some(cubins) = cubins
            && let Some(found) = self.load_stored(cubins, context, key, &mut attempt)?
        {
            return Ok(found);
        }
        if let Some(found) = self.load_any(context, others)? {
            return Ok(found);
        }
        if let Some(cubins) = cubins {
            match cubins.claim(key) {
                Ok(held) => attempt.claim = held,
                Err(published) => {
                    let (started, attempt) = (Instant::now(), &mut attempt);
                    let found =
                        self.take_or_remove(cubins, context, key, &published, started, attempt);
                    if let Some(found) = found? {
                        return Ok(found);
                    }
                }
            }
        }
        // The first call always gives one.
        let image = lower(None)?.ok_or(CudaError::Cache(ptx_cache::CacheError::Panicked))?;
        let Image::Ptx(ptx) = &image else {
            return self.load_given(context, &image);
        };
        let made = match self.make(context, key, ptx, &mut attempt) {
            Err(error) if error.is_unsupported_isa() => {
                self.rescue(context, key, ptx, error, lower, &mut attempt)
            }
            made => made,
        };
        made.map_err(|error| match attempt.passing {
            // A remembered refusal would outlast it.
            Some(passing) if error.is_permanent() => passing,
            _ => error,
        })
    }

    /// The store, where what this context's assembler makes may be kept.
    fn cubins_of(&self, context: &Context<D>) -> Option<&Cubins> {
        let cubins = self.cubins.as_ref()?;
        if context.jit().assembler.is_exact() {
            return Some(cubins);
        }
        self.counts.warn(UNKNOWN_BUILD);
        None
    }

    fn load_image(
        &self,
        context: &Context<D>,
        image: &Image,
        assembly: &JitLog,
    ) -> Result<Module<D>, CudaError> {
        let load = || context.load_into(image, assembly, Some(&self.queue));
        self.queue.with_room(context.id().device, image.device_bytes(), load)
    }

    fn load_given(&self, context: &Context<D>, image: &Image) -> Result<Found<D>, CudaError> {
        let started = Instant::now();
        let module = self.load_image(context, image, &JitLog::default())?;
        let cost = started.elapsed();
        self.counts.given.add(cost);
        Ok(Found { module, source: ModuleSource::Given, cost, is_held_below: false })
    }

    fn load_stored(
        &self,
        cubins: &Cubins,
        context: &Context<D>,
        key: &ModuleKey,
        attempt: &mut Attempt,
    ) -> Result<Option<Found<D>>, CudaError> {
        let started = Instant::now();
        match cubins.find(key) {
            Some(stored) => self.take_or_remove(cubins, context, key, &stored, started, attempt),
            None => Ok(None),
        }
    }

    /// Loads the first of these cubins that is stored and that the driver takes. One that it does
    /// not take stays: it is another device's.
    fn load_any(
        &self,
        context: &Context<D>,
        keys: &[ModuleKey],
    ) -> Result<Option<Found<D>>, CudaError> {
        let Some(cubins) = &self.cubins else { return Ok(None) };
        for key in keys {
            let started = Instant::now();
            if let Some(stored) = cubins.find(key) {
                match self.take(context, &stored, started) {
                    Ok(found) => return Ok(Some(found)),
                    Err(error) => self.refused(error)?,
                }
            }
        }
        Ok(None)
    }

    /// Loads a stored cubin, or takes it out of the store if the driver refuses it.
    fn take_or_remove(
        &self,
        cubins: &Cubins,
        context: &Context<D>,
        key: &ModuleKey,
        stored: &StoredCubin,
        started: Instant,
        attempt: &mut Attempt,
    ) -> Result<Option<Found<D>>, CudaError> {
        self.take(context, stored, started).map(Some).or_else(|error| {
            if error.blames_image() {
                cubins.remove_refused(key, &stored.image);
            } else {
                attempt.doubtful = Some(Arc::clone(&stored.image));
            }
            self.refused(error).map(|()| None)
        })
    }

    /// Loads a stored cubin.
    fn take(
        &self,
        context: &Context<D>,
        stored: &StoredCubin,
        started: Instant,
    ) -> Result<Found<D>, CudaError> {
        let cubin = Cubin::new(Arc::clone(&stored.image))?;
        let module = self.load_image(context, &cubin.into(), &JitLog::default())?;
        let took = started.elapsed();
        self.counts.hits.add(took);
        if let Some(residents) = self.residents.upgrade() {
            residents.note_load(took);
        }
        let (source, cost) = (ModuleSource::Cubin, stored.cost.max(took));
        Ok(Found { module, source, cost, is_held_below: true })
    }

    /// That the driver refuses a cubin is no verdict on the module. An error that is not about the
    /// cubin is given back.
    fn refused(&self, error: CudaError) -> Result<(), CudaError> {
        if !error.may_blame_image() {
            return Err(error);
        }
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%error, "a cubin was refused; the module comes from elsewhere");
        Ok(())
    }

    /// Makes the module of a text. What is assembled is kept once it is loaded.
    fn make(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        ptx: &Ptx,
        attempt: &mut Attempt,
    ) -> Result<Found<D>, CudaError> {
        let as_given = || self.load_given(context, &Image::Ptx(ptx.clone()));
        // It may have been cut off before its first kernel: nothing to keep.
        if ptx.kernels().next().is_none() {
            return as_given();
        }
        let started = Instant::now();
        match self.assemble(context, ptx) {
            Ok(assembled) => {
                let found = self.load_assembled(context, key, assembled, started, attempt)?;
                found.map_or_else(as_given, Ok)
            }
            // The driver would say the same of the text again. What another assembler does not
            // take, or a linker that fails, it may.
            Err(error) if context.driver_assembles() && error.is_permanent() => Err(error),
            Err(error) => as_given().map_err(|second| match second {
                // Options by name are for `ptxas` alone: the driver was not asked.
                CudaError::UnsupportedOption { .. } => error,
                second => {
                    if !context.driver_assembles() && !error.is_permanent() {
                        attempt.passing = Some(error);
                    }
                    second
                }
            }),
        }
    }

    /// A cubin of a text, also where none is kept: linkers work side by side, while the assembly
    /// within a driver's load keeps every other load of the process waiting.
    fn assemble(&self, context: &Context<D>, ptx: &Ptx) -> Result<Assembled, CudaError> {
        let assemble = || context.assemble(ptx);
        if context.driver_assembles() {
            self.queue.with_room(context.id().device, ptx.text().len() as u64, assemble)
        } else {
            assemble()
        }
    }

    /// `None` where the driver refuses what the assembler made.
    fn load_assembled(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        assembled: Assembled,
        started: Instant,
        attempt: &mut Attempt,
    ) -> Result<Option<Found<D>>, CudaError> {
        let (image, assembly) = (Arc::clone(assembled.cubin.image()), started.elapsed());
        let module = match self.load_image(context, &assembled.cubin.into(), &assembled.log) {
            Ok(module) => module,
            Err(error) => return self.refused(error).map(|()| None),
        };
        let (source, cost) = (ModuleSource::Assembled, started.elapsed());
        self.counts.assembled.add(cost);
        let cubins = self.cubins_of(context);
        let is_held_below = cubins.is_some_and(Cubins::is_writable);
        if let Some(cubins) = cubins {
            if let Some(doubtful) = attempt.doubtful.take().filter(|doubtful| *doubtful != image) {
                cubins.remove_refused(key, &doubtful);
            }
            cubins.keep(*key, StoredCubin { image, cost: assembly }, attempt.claim.take());
        }
        Ok(Some(Found { module, source, cost, is_held_below }))
    }
}

#[cfg(test)]
mod tests;
