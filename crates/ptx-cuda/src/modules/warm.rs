//! Loads or assembles many modules in parallel, before the first launch needs them.

use std::error::Error;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use ptx_cache::{Claim, CubinArtifact, Source, Store, Stored};
use ptx_key::{JitConfiguration, ModuleKey};

use super::cache::ModuleCache;
use super::keys::ModuleKeys;
use crate::{Context, Cubin, CudaError, Driver, Image, Ptx, Ptxas};

/// The progress of a warm-up, reported once for each key, in the thread that loaded it.
#[derive(Debug)]
#[non_exhaustive]
pub struct WarmProgress<'p> {
    /// The number of keys that are done, with this one.
    pub done: usize,
    /// The number of all keys.
    pub total: usize,
    /// The key that is done now.
    pub key: &'p ModuleKey,
    /// Where its module came from, or why there is none.
    pub outcome: &'p Result<Source, CudaError>,
}

/// The result of a warm-up.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Warmed {
    /// The number of keys whose module was resident or stored.
    pub already_there: usize,
    /// The number of keys whose module was assembled, or loaded as given.
    pub computed: usize,
    /// Keys without a module, and why.
    pub failures: Vec<(ModuleKey, CudaError)>,
}

impl<D: Driver> ModuleCache<D> {
    /// Loads the modules of many keys, in `threads` threads, or in one for each core. A failed key
    /// does not stop the others.
    ///
    /// A key is a [`ModuleKey`], or [`ModuleKeys`] where cubins were shipped. Modules beyond the
    /// budget are evicted again, but their cubins are in the store.
    ///
    /// ```
    /// use ptx_cuda::{Config, Context, ModuleCache, Ptx, RecordingDriver};
    ///
    /// let context = Context::primary(&RecordingDriver::new(), 0)?;
    /// let modules = ModuleCache::new(Config::default());
    /// let texts = ["saxpy", "gemm"].map(|name| {
    ///     format!(".version 9.0\n.target sm_90\n.visible .entry {name}() {{ ret; }}\n")
    /// });
    /// let wanted = texts.map(|text| (context.module_key_of_text(&text), || Ptx::new(text)));
    /// let warmed = modules.warm(&context, wanted, None, |progress| {
    ///     println!("{} of {}", progress.done, progress.total);
    /// });
    /// assert_eq!((warmed.computed, warmed.failures.len()), (2, 0));
    /// # Ok::<(), ptx_cuda::CudaError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where an image's closure or `progress` does. The other threads finish their current key and
    /// stop.
    pub fn warm<K, F, I, E>(
        &self,
        context: &Context<D>,
        wanted: impl IntoIterator<Item = (K, F)>,
        threads: Option<NonZeroUsize>,
        progress: impl Fn(&WarmProgress<'_>) + Sync,
    ) -> Warmed
    where
        K: Into<ModuleKeys>,
        F: FnOnce() -> Result<I, E> + Send,
        I: Into<Image>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let wanted = wanted.into_iter().map(|(keys, image)| {
            let keys = keys.into();
            (*keys.own(), (keys, image))
        });
        let load = |_: &ModuleKey, (keys, image): (ModuleKeys, F)| {
            self.get_or_load_any(context, &keys, image).map(|served| served.source)
        };
        let warmed = in_parallel(wanted, threads, load, progress);
        self.flush();
        warmed
    }
}

impl Ptxas {
    /// Assembles many texts into a store, in `threads` threads, or in one for each core. It needs
    /// no GPU.
    ///
    /// `jit` is this assembler's [configuration](Self::jit) for the cubins' device, and makes the
    /// keys. Stored cubins are not assembled again. Other processes that want the same cubin wait.
    ///
    /// A text without a kernel is a failure: it may be cut off. So is a store that keeps nothing.
    ///
    /// # Panics
    ///
    /// Where a text's closure or `progress` does. The other threads finish their current key and
    /// stop.
    pub fn warm<F, E>(
        &self,
        store: &dyn Store<ModuleKey>,
        jit: &JitConfiguration,
        wanted: impl IntoIterator<Item = (ModuleKey, F)>,
        threads: Option<NonZeroUsize>,
        progress: impl Fn(&WarmProgress<'_>) + Sync,
    ) -> Warmed
    where
        F: FnOnce() -> Result<Ptx, E> + Send,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let assemble = |key: &ModuleKey, text: F| {
            let text = || text().map_err(CudaError::from_source);
            self.assemble_into(store, jit, key, text)
        };
        in_parallel(wanted, threads, assemble, progress)
    }

    fn assemble_into(
        &self,
        store: &dyn Store<ModuleKey>,
        jit: &JitConfiguration,
        key: &ModuleKey,
        text: impl FnOnce() -> Result<Ptx, CudaError>,
    ) -> Result<Source, CudaError> {
        let failed =
            |source| CudaError::Store { store: store.name().to_owned(), source: Arc::new(source) };
        if let Some(stored) = store.load(key).map_err(failed)? {
            if Cubin::new(Arc::clone(&stored.payload)).is_ok() {
                return Ok(Source::Tier(store.name().into()));
            }
            store.remove_if_payload(key, &stored.payload).map_err(failed)?;
        }
        // Held until the cubin is stored.
        let _claim = match store.claim(key).map_err(failed)? {
            Claim::Published(_) => return Ok(Source::Tier(store.name().into())),
            claim => claim,
        };
        let text = text()?;
        if text.kernels().next().is_none() {
            return Err(text.ends_before_a_kernel());
        }
        let skips = "it is off or read-only, or cannot write any more";
        if !store.is_writable() {
            return Err(failed(skips.into()));
        }
        let started = Instant::now();
        let assembled = self.assemble(&text, jit.compute_capability, &jit.options)?;
        let image = Arc::clone(assembled.cubin.image());
        let mut cubin = CubinArtifact::new(image).with_cost(started.elapsed());
        cubin.attributes = text.cubin_attributes(&assembled.log);
        match store.store(key, &cubin).map_err(failed)? {
            Stored::Written | Stored::Present => Ok(Source::Computed),
            // The store stopped writing meanwhile.
            Stored::Skipped => Err(failed(skips.into())),
        }
    }
}

/// Runs `work` for every key, each in the next free thread.
fn in_parallel<F: Send>(
    wanted: impl IntoIterator<Item = (ModuleKey, F)>,
    threads: Option<NonZeroUsize>,
    work: impl Fn(&ModuleKey, F) -> Result<Source, CudaError> + Sync,
    progress: impl Fn(&WarmProgress<'_>) + Sync,
) -> Warmed {
    let wanted: Vec<_> = wanted.into_iter().collect();
    let total = wanted.len();
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.map_or_else(cores, NonZeroUsize::get).min(total);
    let (rest, done) = (Mutex::new(wanted.into_iter()), AtomicUsize::new(0));
    let warmed = Mutex::new(Warmed::default());
    // Neither lock is held while `work` runs, so a panic leaves nothing half changed.
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        // The panic goes on to the caller, who would only wait for the rest.
        let _stop = scopeguard::guard_on_unwind((), |()| {
            *rest.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new().into_iter();
        });
        while let Some((key, wanted)) = next() {
            let outcome = work(&key, wanted);
            // Relaxed: it publishes nothing else.
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(&WarmProgress { done, total, key: &key, outcome: &outcome });
            let mut warmed = warmed.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(Source::Computed) => warmed.computed += 1,
                Ok(_) => warmed.already_there += 1,
                Err(error) => warmed.failures.push((key, error)),
            }
        }
    };
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        // Where no more threads can be started, those that run do the rest.
        let others: Vec<_> = (1..threads).map_while(start).collect();
        run();
        for other in others {
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
    warmed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
