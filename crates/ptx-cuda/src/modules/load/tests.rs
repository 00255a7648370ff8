//! Where modules come from, with the recording driver and a store in a map.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex};
use std::thread;

use ptx_cache::{Candidate, Config, Retention, Size};

use super::super::cache::ModuleCache;
use super::super::counts::CubinSnapshot;
use super::super::writer::MOST_WAITING;
use super::*;
use crate::{
    DriverBuild, DriverCode, DriverVersion, Failure, JitLog, Operation, Reason, RecordingDriver,
};

mod fallbacks;
mod map_store;

use map_store::MapStore;

const TEXT: &str = ".version 9.0\n.target sm_90\n.entry a() { ret; }\n";

/// A process: a driver, a context, and a cache above a store.
struct Process {
    driver: Arc<RecordingDriver>,
    context: Context<RecordingDriver>,
    modules: ModuleCache<RecordingDriver>,
}

impl Process {
    fn new(store: &Arc<MapStore>) -> Self {
        Self::of_build(store, Some(DriverBuild::new("a build")))
    }

    fn of_build(store: &Arc<MapStore>, build: Option<DriverBuild>) -> Self {
        let driver = RecordingDriver::of_build(build);
        let context = Context::primary(&driver, 0).unwrap();
        let store: Arc<dyn Store<ModuleKey>> = Arc::<MapStore>::clone(store);
        let modules = ModuleCache::new(Config::default()).with_cubins(store);
        Self { driver, context, modules }
    }

    fn key(&self) -> ModuleKey {
        self.context.module_key_of_text(TEXT)
    }

    fn load(&self) -> Result<Source, CudaError> {
        let served = self.modules.get_or_load(&self.context, &self.key(), || Ptx::new(TEXT))?;
        served.function("a")?;
        Ok(served.source)
    }

    fn counts(&self) -> CubinSnapshot {
        self.modules.flush();
        self.modules.snapshot().cubins
    }
}

fn judged(code: DriverCode) -> Failure {
    Failure::Judged { code, log: JitLog::default() }
}

#[test]
fn a_text_is_assembled_once_and_the_next_process_loads_its_cubin() {
    let store = Arc::default();
    let first = Process::new(&store);
    assert_eq!(first.load().unwrap(), Source::Computed);
    assert_eq!(first.load().unwrap(), Source::Memory);
    let counts = first.counts();
    assert_eq!((counts.assembled, counts.written, counts.hits), (1, 1, 0));
    drop(first);
    let second = Process::new(&store);
    let never = || -> Result<Ptx, CudaError> { panic!("the text is not needed") };
    let served = second.modules.get_or_load(&second.context, &second.key(), never).unwrap();
    assert_eq!(served.source, Source::Tier("map".into()));
    assert_eq!((second.counts().hits, second.counts().assembled), (1, 0));
    assert_eq!(second.driver.count(Operation::Assemble), 0);
}

/// Notes the costs of the next misses, and evicts the first entries.
#[derive(Default)]
struct Costs(Mutex<Vec<Duration>>);

impl Retention for Costs {
    fn victims(&self, candidates: &[Candidate], _: Size) -> Vec<usize> {
        *self.0.lock().unwrap() = candidates.iter().map(|candidate| candidate.cost).collect();
        vec![0]
    }

    fn worth(&self, _: &Candidate) -> f64 {
        1.0
    }
}

#[test]
fn the_next_miss_costs_a_load_where_the_store_has_the_cubin() {
    const ASSEMBLY: Duration = Duration::from_secs(1000);
    let store = Arc::<MapStore>::default();
    let costs = Arc::<Costs>::default();
    let config = Config {
        retention: Arc::<Costs>::clone(&costs),
        ..Config::with_budget(Size { entries: 2, bytes: u64::MAX })
    };
    let process = Process::new(&store);
    let cubins: Arc<dyn Store<ModuleKey>> = Arc::<MapStore>::clone(&store);
    let modules = ModuleCache::new(config).with_cubins(cubins);
    for kernel in ["b", "c", "d"] {
        let text = TEXT.replace("a()", &format!("{kernel}()"));
        let key = process.context.module_key_of_text(&text);
        let image = crate::assemble::smallest_cubin(90, text.as_bytes());
        store.kept.lock().unwrap().insert(key, CubinArtifact::new(image).with_cost(ASSEMBLY));
        let served = modules.get_or_load(&process.context, &key, || Ptx::new(text)).unwrap();
        assert_eq!(served.source, Source::Tier("map".into()));
    }
    assert!(modules.entries().iter().all(|entry| entry.cost >= ASSEMBLY));
    let costs = costs.0.lock().unwrap().clone();
    assert_eq!(costs.len(), 2);
    assert!(costs.iter().all(|cost| *cost < ASSEMBLY), "{costs:?}");
}

#[test]
fn another_build_of_the_driver_misses() {
    let store = Arc::default();
    for (build, expected) in [
        ("580.65.06", Source::Computed),
        ("580.95.05", Source::Computed),
        ("580.65.06", Source::Tier("map".into())),
    ] {
        let process = Process::of_build(&store, Some(DriverBuild::new(build)));
        assert_eq!(process.load().unwrap(), expected, "{build}");
    }
}

/// A module that memory evicts must be assembled again there.
#[test]
fn a_read_only_store_is_no_lower_tier() {
    for is_read_only in [false, true] {
        let store = Arc::<MapStore>::default();
        store.is_read_only.store(is_read_only, Ordering::Relaxed);
        let context = Context::primary(&RecordingDriver::new(), 0).unwrap();
        let mut loader = Loader::new(Weak::new());
        loader.keep_in(store);
        let key = context.module_key_of_text(TEXT);
        let wanted = Wanted { key: &key, others: &[] };
        let mut lower = |_| Ok(Some(Ptx::new(TEXT)?.into()));
        let found = loader.load(&context, wanted, &mut lower).unwrap();
        assert_eq!(found.in_lower_tier, !is_read_only);
    }
}

/// The driver's assembly within a load would block all other loads.
#[test]
fn the_linker_assembles_texts_also_without_a_store() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text(TEXT);
    let served = modules.get_or_load(&context, &key, || Ptx::new(TEXT)).unwrap();
    assert_eq!(served.source, Source::Computed);
    assert_eq!((driver.count(Operation::Assemble), driver.count(Operation::Load)), (1, 1));
    assert!(served.log().text().contains("bytes of PTX"), "{:?}", served.log());
}

#[test]
fn a_driver_of_an_unknown_build_keeps_no_cubins() {
    let store = Arc::<MapStore>::default();
    for _ in 0..2 {
        let process = Process::of_build(&store, None);
        assert_eq!(process.load().unwrap(), Source::Computed);
        assert_eq!((process.counts().assembled, process.counts().written), (1, 0));
        assert!(store.kept.lock().unwrap().is_empty());
    }
}

#[test]
fn a_refused_stored_cubin_is_assembled_again_and_is_no_refusal_of_the_module() {
    for code in [DriverCode::INVALID_IMAGE, DriverCode::NO_BINARY_FOR_GPU, DriverCode(218)] {
        let store = Arc::<MapStore>::default();
        Process::new(&store).load().unwrap();
        let (key, good) = store.only();
        let process = Process::new(&store);
        process.driver.fail_next(Operation::Load, judged(code));
        assert_eq!(process.load().unwrap(), Source::Computed, "{code}");
        assert_eq!((process.counts().refused, process.counts().written), (1, 1));
        assert_eq!(store.only(), (key, CubinArtifact { cost: store.only().1.cost, ..good }));
        assert_eq!(process.load().unwrap(), Source::Memory);
    }
}

#[test]
fn bytes_that_are_not_a_cubin_are_removed_from_the_store() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    store.put(process.key(), b"no cubin");
    assert_eq!(process.load().unwrap(), Source::Computed);
    process.modules.flush();
    assert!(store.only().1.payload.starts_with(b"\x7fELF"));
}

/// The cause may be the cubin, or the driver's state: then the text fails too.
#[test]
fn after_an_unclear_refusal_the_text_is_tried_and_the_cubin_stays() {
    for code in [DriverCode::UNKNOWN, DriverCode::INVALID_VALUE, DriverCode(225)] {
        let store = Arc::<MapStore>::default();
        Process::new(&store).load().unwrap();
        let before = store.only();
        for failures in [1, 2] {
            let process = Process::new(&store);
            (0..failures).for_each(|_| process.driver.fail_next(Operation::Load, judged(code)));
            assert_eq!(process.load().unwrap(), Source::Computed, "{code}");
            assert_eq!(process.counts().refused, failures);
            let given = process.counts().given;
            assert_eq!(given, failures - 1, "the text itself is loaded where its cubin is refused");
            assert_eq!(store.only(), before);
        }
        let process = Process::new(&store);
        (0..3).for_each(|_| process.driver.fail_next(Operation::Load, judged(code)));
        assert_eq!(process.load().unwrap_err().refused().unwrap().code, Some(code));
        assert_eq!(process.load().unwrap(), Source::Tier("map".into()));
    }
}

#[test]
fn a_suspect_cubin_is_removed_where_the_driver_takes_another() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    store.put(process.key(), &crate::assemble::smallest_cubin(90, b"another's"));
    process.driver.fail_next(Operation::Load, judged(DriverCode::UNKNOWN));
    assert_eq!(process.load().unwrap(), Source::Computed);
    process.modules.flush();
    assert!(store.only().1.payload.ends_with(TEXT.as_bytes()));
}

#[test]
fn a_lost_context_is_no_refusal_of_a_stored_cubin() {
    let store = Arc::<MapStore>::default();
    Process::new(&store).load().unwrap();
    let process = Process::new(&store);
    process.driver.fail_next(Operation::Load, judged(DriverCode::ILLEGAL_ADDRESS));
    assert!(process.load().unwrap_err().to_string().contains("compute-sanitizer"));
    assert_eq!((process.counts().refused, process.counts().assembled), (0, 0));
    assert_eq!(process.load().unwrap(), Source::Tier("map".into()));
}

#[test]
fn where_the_driver_refuses_the_new_cubin_it_loads_the_text() {
    let process = Process::new(&Arc::default());
    process.driver.fail_next(Operation::Load, judged(DriverCode::INVALID_IMAGE));
    assert_eq!(process.load().unwrap(), Source::Computed);
    let counts = process.counts();
    assert_eq!((counts.refused, counts.written, counts.given), (1, 0, 1));
}

#[test]
fn a_refused_text_is_asked_for_once_and_remembered() {
    let process = Process::new(&Arc::default());
    process.driver.fail_next(Operation::Assemble, judged(DriverCode::INVALID_PTX));
    for _ in 0..2 {
        let error = process.load().unwrap_err();
        assert_eq!(error.refused().unwrap().reason, Reason::InvalidPtx);
    }
    assert_eq!(process.driver.count(Operation::Load), 0);
}

#[test]
fn a_text_without_a_kernel_is_not_stored_and_its_error_says_that_it_may_be_cut_off() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    let cut = TEXT.split(".entry").next().unwrap();
    let key = process.context.module_key_of_text(cut);
    let module = process.modules.get_or_load(&process.context, &key, || Ptx::new(cut)).unwrap();
    let error = module.function("a").unwrap_err().to_string();
    assert!(error.contains("may end too early"), "{error}");
    assert_eq!(process.counts().given, 1);
    assert!(store.kept.lock().unwrap().is_empty());
}

#[test]
fn a_store_that_fails_fails_no_load() {
    let store = Arc::<MapStore>::default();
    store.failing.store(true, Ordering::Relaxed);
    let process = Process::new(&store);
    assert_eq!(process.load().unwrap(), Source::Computed);
    // The look, the claim and the write.
    assert_eq!((process.counts().store_failures, process.counts().written), (3, 0));
    assert_eq!(process.load().unwrap(), Source::Memory);
}

#[test]
fn a_store_that_panics_at_every_request_fails_no_load() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    store.broken.store(true, Ordering::Relaxed);
    assert_eq!(process.load().unwrap(), Source::Computed);
    assert_eq!((process.counts().store_failures, process.counts().written), (3, 0));
}

#[test]
fn a_store_that_panics_fails_no_load_and_loses_no_other_cubin() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    let load = |number: usize| {
        let text = TEXT.replace("a()", &format!("kernel_{number}()"));
        let key = process.context.module_key_of_text(&text);
        process.modules.get_or_load(&process.context, &key, || Ptx::new(text)).unwrap();
    };
    store.panics.store(2, Ordering::Relaxed);
    let writing = store.writing.lock().unwrap();
    // More than may wait.
    (0..MOST_WAITING).for_each(load);
    drop(writing);
    (MOST_WAITING..100).for_each(load);
    let counts = process.counts();
    assert_eq!((counts.written, counts.store_failures), (98, 2));
    assert_eq!(store.kept.lock().unwrap().len(), 98);
    assert_eq!(store.held.load(Ordering::Relaxed), 0);
}

#[test]
fn a_claim_is_released_however_the_load_ends() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    let serve = |image: &dyn Fn() -> Result<Ptx, CudaError>| {
        process.modules.get_or_load(&process.context, &process.key(), image)
    };
    let panics = || -> Result<Ptx, CudaError> { panic!("a lowering's bug") };
    assert!(catch_unwind(AssertUnwindSafe(|| serve(&panics).map(|_| ()))).is_err());
    assert!(serve(&|| Ptx::new("no PTX")).is_err());
    for code in [DriverCode::OUT_OF_MEMORY, DriverCode::OUT_OF_MEMORY, DriverCode::LAUNCH_FAILED] {
        process.driver.fail_next(Operation::Load, judged(code));
    }
    assert!(process.load().is_err());
    assert!(process.load().is_err());
    assert_eq!(store.held.load(Ordering::Relaxed), 0);
    assert_eq!(process.load().unwrap(), Source::Computed);
    process.modules.flush();
    assert_eq!(store.held.load(Ordering::Relaxed), 0);
}

#[test]
fn no_load_waits_for_a_write() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    let writing = store.writing.lock().unwrap();
    // If it waited, it would never return.
    assert_eq!(process.load().unwrap(), Source::Computed);
    assert!(store.kept.lock().unwrap().is_empty());
    drop(writing);
    drop(process);
    store.only();
}

#[test]
fn a_cubin_that_another_process_publishes_during_the_claim_is_loaded() {
    let store = Arc::<MapStore>::default();
    Process::new(&store).load().unwrap();
    let (key, cubin) = store.only();
    store.kept.lock().unwrap().clear();
    *store.published.lock().unwrap() = Some(cubin);
    let process = Process::new(&store);
    assert_eq!(process.key(), key);
    assert_eq!(process.load().unwrap(), Source::Tier("map".into()));
    assert_eq!(process.driver.count(Operation::Assemble), 0);

    let process = Process::new(&store);
    store.put(key, b"no cubin");
    *store.published.lock().unwrap() = Some(store.only().1);
    store.hidden.store(1, Ordering::Relaxed);
    assert_eq!(process.load().unwrap(), Source::Computed);
    assert_eq!((process.counts().refused, process.counts().written), (1, 1));
    assert!(store.only().1.payload.starts_with(b"\x7fELF"));
}

#[test]
fn the_contexts_of_a_process_share_one_assembly() {
    let process = Process::new(&Arc::default());
    assert_eq!(process.load().unwrap(), Source::Computed);
    process.modules.flush();
    let own = Context::own(&process.driver, 0).unwrap();
    let served = process.modules.get_or_load(&own, &process.key(), || Ptx::new(TEXT)).unwrap();
    assert_eq!(served.source, Source::Tier("map".into()));
    assert_eq!(served.context().id(), own.id());
}

#[test]
fn threads_that_ask_at_once_assemble_once() {
    let process = Process::new(&Arc::default());
    let gate = Barrier::new(8);
    let sources: Vec<_> = thread::scope(|scope| {
        let ask = || {
            gate.wait();
            process.load().unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let assembled = sources.iter().filter(|source| **source == Source::Computed);
    assert_eq!((assembled.count(), process.driver.count(Operation::Assemble)), (1, 1));
}
