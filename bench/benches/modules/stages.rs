//! How is one stage measured? In a separate process.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use ptx_cuda::{
    Config, Context, Cubin, CudaError, CustDriver, Function, Image, ModuleCache, Ptx, Size,
    Store as _,
};
use ptx_disk::DiskStore;
use ptx_key::{Digest, ModuleKey, PtxKey};
use ptx_tests::{Corpus, PtxFile};
use serde_json::json;

/// Where a stage gets modules from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The text, with the driver's cache off.
    Cold,
    /// The text, with the driver's cache on.
    DriverCache,
    /// The text, assembled by our cache without a store.
    Assembled,
    /// Our store of cubins, or the text if the store lacks it. Then our memory.
    Cubins,
    /// Cubins in the process's memory.
    Floor,
}

impl Stage {
    const ALL: [Self; 5] =
        [Self::Cold, Self::DriverCache, Self::Assembled, Self::Cubins, Self::Floor];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::DriverCache => "driver's cache",
            Self::Assembled => "cold, by our cache",
            Self::Cubins => "our cubins",
            Self::Floor => "floor",
        }
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|stage| stage.name() == name);
        named.ok_or_else(|| format!("no stage `{name}`"))
    }
}

/// A file, its first kernel, and the key of its module.
struct Wanted {
    file: PtxFile,
    kernel: String,
    key: ModuleKey,
}

type Loaded = Result<Function<CustDriver>, CudaError>;

/// Runs `stage` and prints its figures as JSON.
pub(crate) fn run(stage: Stage, threads: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let corpus = Corpus::find().ok_or("no corpus")?;
    let context = Context::primary(&CustDriver::new()?, 0)?;
    let wanted: Vec<Wanted> = corpus
        .ptx_files()?
        .into_iter()
        .map(|file| {
            let lowering = PtxKey::from_bytes(*Digest::of_bytes(file.text.as_bytes()).as_bytes());
            let ptx = Ptx::new(Arc::clone(&file.text))?;
            let kernel = ptx.kernels().next().unwrap_or(&file.name).to_owned();
            Ok(Wanted { key: context.module_key(&lowering), kernel, file })
        })
        .collect::<Result<_, CudaError>>()?;
    // The first load initialises the context, which is not measured.
    context.load(&Ptx::new(".version 7.0\n.target sm_70\n.entry first() { ret; }\n")?.into())?;

    let mut memory_warm = None;
    let mut figures = match stage {
        Stage::Cold | Stage::DriverCache => {
            let texts: Vec<Image> = wanted
                .iter()
                .map(|wanted| Ptx::new(Arc::clone(&wanted.file.text)).map(Image::from))
                .collect::<Result<_, _>>()?;
            timed(&wanted, threads, |place| {
                context.load(&texts[place])?.function(&wanted[place].kernel)
            })?
        }
        Stage::Assembled | Stage::Cubins => {
            let mut modules = ModuleCache::new(Config::with_budget(Size::UNBOUNDED));
            if stage == Stage::Cubins {
                let store = DiskStore::open(ptx_disk::Config::new(directory))?;
                modules = modules.with_cubins(Arc::new(store));
            }
            let figures = timed(&wanted, threads, |place| {
                let Wanted { file, kernel, key } = &wanted[place];
                let text = || Ptx::new(Arc::clone(&file.text));
                modules.get_or_load(&context, key, text)?.function(kernel)
            })?;
            modules.flush();
            memory_warm = Some(from_memory(&modules, &context, &wanted, threads)?);
            figures
        }
        Stage::Floor => {
            let store = DiskStore::open(ptx_disk::Config::new(directory))?;
            let mut cubins = Vec::new();
            for Wanted { file, key, .. } in &wanted {
                let stored = store.load(key).map_err(|error| error.to_string())?;
                let stored = stored.ok_or_else(|| format!("no cubin of {}", file.name))?;
                cubins.push(Image::from(Cubin::new(stored.payload)?));
            }
            timed(&wanted, threads, |place| {
                context.load(&cubins[place])?.function(&wanted[place].kernel)
            })?
        }
    };
    figures.files.sort_by(f64::total_cmp);
    let said = json!({
        "wall_ms": figures.wall,
        "median_ms": figures.files.get(figures.files.len() / 2),
        "longest_ms": figures.files.last(),
        "memory_warm_ns": memory_warm,
    });
    println!("{said}");
    Ok(())
}

/// Milliseconds.
struct Figures {
    wall: f64,
    files: Vec<f64>,
}

/// Loads every file once, on `threads` threads. Keeps all functions until the last is loaded.
fn timed(
    wanted: &[Wanted],
    threads: usize,
    load: impl Fn(usize) -> Loaded + Sync,
) -> Result<Figures, Box<dyn Error>> {
    let (next, start) = (AtomicUsize::new(0), Barrier::new(threads + 1));
    let kept = Mutex::new(Vec::new());
    let wall = thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut mine = Vec::with_capacity(wanted.len());
                start.wait();
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= wanted.len() {
                        break;
                    }
                    let started = Instant::now();
                    let function = load(place);
                    mine.push((place, started.elapsed(), function));
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(mine);
            });
        }
        start.wait();
        Instant::now()
    })
    .elapsed();
    let mut files = Vec::new();
    for (place, took, function) in kept.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let name = &wanted[place].file.name;
        black_box(function.map_err(|error| format!("{name}: {error}"))?);
        files.push(took.as_secs_f64() * 1e3);
    }
    Ok(Figures { wall: wall.as_secs_f64() * 1e3, files })
}

/// The mean nanoseconds of a look-up of a resident function, on `threads` threads.
fn from_memory(
    modules: &ModuleCache<CustDriver>,
    context: &Context<CustDriver>,
    wanted: &[Wanted],
    threads: usize,
) -> Result<f64, Box<dyn Error>> {
    const TURNS: usize = 100;
    let found = AtomicUsize::new(0);
    // A launch has its key and name at hand.
    let wanted: Vec<(ModuleKey, &str)> =
        wanted.iter().map(|wanted| (wanted.key, wanted.kernel.as_str())).collect();
    let start = Barrier::new(threads);
    let took: Vec<f64> = thread::scope(|scope| {
        let look = || {
            start.wait();
            let started = Instant::now();
            let mut here = 0;
            for (key, kernel) in wanted.iter().cycle().take(TURNS * wanted.len()) {
                let function = modules.with(context, key, |module| module.raw_function(kernel));
                here += usize::from(matches!(black_box(function), Some(Ok(_))));
            }
            found.fetch_add(here, Ordering::Relaxed);
            started.elapsed().as_nanos() as f64 / (TURNS * wanted.len()) as f64
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(look)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    if found.into_inner() != threads * TURNS * wanted.len() {
        return Err("not every module was resident".into());
    }
    Ok(took.iter().sum::<f64>() / took.len() as f64)
}
