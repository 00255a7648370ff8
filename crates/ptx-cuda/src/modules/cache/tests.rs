//! The cache of modules, on the recording driver.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use ptx_cache::Size;

use super::*;
use crate::{CubinSnapshot, DriverCode, Failure, JitLog, Operation, Ptx, RecordingDriver};

fn text(number: usize) -> String {
    format!(".version 9.0\n.target sm_90\n.entry kernel_{number}() {{ ret; }}\n")
}

fn start() -> (Arc<RecordingDriver>, Context<RecordingDriver>) {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    (driver, context)
}

fn load(
    modules: &ModuleCache<RecordingDriver>,
    context: &Context<RecordingDriver>,
    number: usize,
) -> Module<RecordingDriver> {
    let text = text(number);
    let key = context.module_key_of_text(&text);
    modules.get_or_load(context, &key, || Ptx::new(text)).unwrap().value
}

/// Waits until the retired modules are unloaded. Other tests' threads may delay that.
fn settle(driver: &RecordingDriver, modules: Option<&ModuleCache<RecordingDriver>>, loaded: usize) {
    // A thread that is not scheduled may hold them, so this sleeps and does not only yield.
    for _ in 0..100_000 {
        if driver.loaded() == loaded {
            return;
        }
        match modules {
            Some(modules) => drop(modules.unload_retired()),
            None => crossbeam_epoch::pin().flush(),
        }
        thread::sleep(Duration::from_micros(50));
    }
    assert_eq!(driver.loaded(), loaded);
}

#[test]
fn concurrent_requests_share_one_load() {
    let (driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let (gate, lowerings) = (Barrier::new(8), AtomicUsize::new(0));
    let key = context.module_key_of_text(&text(0));
    let functions: Vec<_> = thread::scope(|scope| {
        let ask = || {
            gate.wait();
            let module = modules.get_or_load(&context, &key, || {
                lowerings.fetch_add(1, Ordering::Relaxed);
                Ptx::new(text(0))
            });
            module.unwrap().function("kernel_0").unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!((lowerings.into_inner(), driver.count(Operation::Load)), (1, 1));
    assert!(functions.iter().all(|function| function.raw() == functions[0].raw()));
    assert_eq!(modules.snapshot().memory.computed, 1);
}

#[test]
fn one_key_in_two_contexts_is_two_modules() {
    let (driver, context) = start();
    let own = Context::own(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text(&text(0));
    assert_eq!(key, own.module_key_of_text(&text(0)));
    assert_eq!(load(&modules, &context, 0).context().id(), context.id());
    assert_eq!(load(&modules, &own, 0).context().id(), own.id());
    assert_eq!(driver.count(Operation::Load), 2);
    assert!(modules.get(&own, &key).is_some());
    assert_eq!(modules.forget(own.id()), 1);
    assert!(modules.get(&own, &key).is_none() && modules.get(&context, &key).is_some());
}

#[test]
fn a_permanent_refusal_is_remembered_until_it_is_removed() {
    let (_driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key(&ptx_key::PtxKey::from_bytes([1; 32]));
    let late = || Ptx::new(text(0).replace("9.0", "99.0"));
    let first = modules.get_or_load(&context, &key, late).unwrap_err();
    let never = || -> Result<Ptx, CudaError> { panic!("asked again") };
    let second = modules.get_or_load(&context, &key, never).unwrap_err();
    assert_eq!(first.to_string(), second.to_string());
    assert!(modules.get(&context, &key).is_none());
    assert!(modules.remove(context.id(), &key));
    assert!(modules.get_or_load(&context, &key, || Ptx::new(text(0))).is_ok());
}

#[test]
fn contexts_of_two_driver_objects_do_not_share_modules() {
    let [(_first, one), (second, other)] = [start(), start()];
    assert_ne!(one.id(), other.id());
    let modules = ModuleCache::new(Config::default());
    load(&modules, &one, 0);
    assert_eq!(load(&modules, &other, 0).context().id(), other.id());
    assert_eq!(second.count(Operation::Load), 1);
}

#[test]
fn a_text_or_image_that_may_be_damaged_is_loaded_again() {
    let (driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key(&ptx_key::PtxKey::from_bytes([1; 32]));
    let log = "ptxas application ptx input, line 3; fatal   : Parsing error near '': syntax error";
    let cubin = crate::Cubin::new(crate::assemble::smallest_cubin(90, text(0).as_bytes())).unwrap();
    for (image, operation, code, log) in [
        (Ptx::new(text(0)).unwrap().into(), Operation::Assemble, DriverCode::INVALID_PTX, log),
        (Image::from(cubin), Operation::Load, DriverCode::INVALID_IMAGE, ""),
    ] {
        let log = JitLog::new(log);
        driver.fail_next(operation, Failure::Judged { code, log });
        let give = || Ok::<_, CudaError>(image.clone());
        let error = modules.get_or_load(&context, &key, give).unwrap_err().to_string();
        assert!(error.contains("again"), "{error}");
        // The error advises this.
        modules.get_or_load(&context, &key, give).unwrap();
        modules.clear();
    }
}

#[test]
fn clearing_sets_every_count_to_zero() {
    let (_driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    load(&modules, &context, 0);
    assert_ne!(modules.snapshot().cubins, CubinSnapshot::default());
    modules.clear();
    assert_eq!(modules.snapshot().cubins, CubinSnapshot::default());
}

#[test]
fn a_passing_failure_is_not_remembered() {
    let (driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text(&text(0));
    let code = DriverCode::OUT_OF_MEMORY;
    for _ in 0..2 {
        driver.fail_next(Operation::Load, Failure::Judged { code, log: JitLog::default() });
    }
    let error = modules.get_or_load(&context, &key, || Ptx::new(text(0))).unwrap_err();
    assert!(error.to_string().contains("free device memory"), "{error}");
    assert!(modules.get_or_load(&context, &key, || Ptx::new(text(0))).is_ok());
}

#[test]
fn the_sources_own_error_comes_back() {
    let (_driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text("x");
    let not_ptx = modules.get_or_load(&context, &key, || Ptx::new("hello"));
    assert!(matches!(not_ptx, Err(CudaError::NotPtx { line: 1, .. })));
    let source = modules.get_or_load(&context, &key, || Err::<Ptx, _>(fmt::Error));
    match source.unwrap_err() {
        CudaError::Source(error) => assert!(error.downcast_ref::<fmt::Error>().is_some()),
        other => panic!("{other}"),
    }
}

#[test]
fn the_chain_of_an_error_leads_to_what_the_system_said() {
    let file = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let source = CudaError::from_source(file());
    let tool = CudaError::of_tool("ptxas".as_ref(), file());
    let store = CudaError::Store { store: "disk".to_owned(), source: Arc::new(file().into()) };
    for error in [source, tool, store] {
        let next = Error::source(&error).unwrap();
        assert!(next.is::<std::io::Error>(), "{error:?}");
    }
}

/// The file may exist the next time: see `FailureMemory`.
#[test]
fn a_source_that_cannot_be_read_is_not_remembered_as_a_failure() {
    let (_driver, context) = start();
    let failures = ptx_cache::FailureMemory {
        lasts: Duration::from_secs(3600),
        most: 8,
        is_deterministic: Arc::new(|_| true),
    };
    let modules = ModuleCache::new(Config { failures: Some(failures), ..Config::default() });
    let key = context.module_key_of_text(&text(0));
    let missing = || Err::<Ptx, _>(std::io::Error::from(std::io::ErrorKind::NotFound));
    modules.get_or_load(&context, &key, missing).unwrap_err();
    modules.get_or_load(&context, &key, || Ptx::new(text(0))).unwrap();
}

#[test]
fn a_source_that_requests_its_own_module_is_an_error() {
    let (_driver, context) = start();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text("x");
    let error = modules
        .get_or_load(&context, &key, || {
            modules.get_or_load(&context, &key, || Ptx::new(text(0)))?;
            Ptx::new(text(0))
        })
        .unwrap_err();
    assert!(matches!(error, CudaError::Cache(CacheError::Reentry)), "{error}");
}

#[test]
fn a_full_cache_unloads_what_nobody_uses() {
    let (driver, context) = start();
    let budget = Size { entries: 4, bytes: u64::MAX };
    let modules = ModuleCache::new(Config::with_budget(budget));
    let used = load(&modules, &context, 0).function("kernel_0").unwrap();
    for number in 1..20 {
        let _ = load(&modules, &context, number);
    }
    let resident = modules.snapshot().memory.resident.entries;
    assert!((1..=4).contains(&resident), "{resident}");
    let key = context.module_key_of_text(&text(0));
    let kept_by_user = usize::from(modules.get(&context, &key).is_none());
    settle(&driver, Some(&modules), usize::try_from(resident).unwrap() + kept_by_user);
    driver.launch(used.raw());
    drop((used, modules));
    settle(&driver, None, 0);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn bytes_are_a_budget_too() {
    let (driver, context) = start();
    let bytes = load(&ModuleCache::new(Config::default()), &context, 0).bytes();
    let budget = Size { entries: 100, bytes: bytes * 2 };
    let modules = ModuleCache::new(Config::with_budget(budget));
    for number in 0..9 {
        assert_eq!(load(&modules, &context, number).bytes(), bytes);
    }
    let resident = modules.snapshot().memory.resident;
    assert!((1..=2).contains(&resident.entries), "{resident:?}");
    assert_eq!(resident.bytes, resident.entries * bytes);
    drop(modules);
    settle(&driver, None, 0);
    assert_eq!(driver.violations(), [""; 0]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize, usize),
    Keep(usize, usize),
    DropKept,
    Remove(usize, usize),
    Forget(usize),
    Clear,
    Shrink(u64),
    UnloadRetired,
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0_usize..6, 0_usize..2);
    prop_oneof![
        6 => place.clone().prop_map(|(number, context)| Step::Load(number, context)),
        3 => place.clone().prop_map(|(number, context)| Step::Keep(number, context)),
        2 => Just(Step::DropKept),
        1 => place.prop_map(|(number, context)| Step::Remove(number, context)),
        1 => (0_usize..2).prop_map(Step::Forget),
        1 => Just(Step::Clear),
        1 => (0_u64..6).prop_map(Step::Shrink),
        1 => Just(Step::UnloadRetired),
    ]
}

proptest! {
    #[test]
    fn no_order_of_steps_breaks_a_rule(steps in proptest::collection::vec(step(), 0..60)) {
        let (driver, primary) = start();
        let contexts = [primary, Context::own(&driver, 0).unwrap()];
        let config = |entries| Config::with_budget(Size { entries, bytes: 1 << 20 });
        let modules = ModuleCache::new(config(4));
        let mut kept = Vec::new();
        for step in steps {
            match step {
                Step::Load(number, context) => drop(load(&modules, &contexts[context], number)),
                Step::Keep(number, context) => {
                    let module = load(&modules, &contexts[context], number);
                    kept.push(module.function(&format!("kernel_{number}")).unwrap());
                }
                Step::DropKept => drop(kept.pop()),
                Step::Remove(number, context) => {
                    let key = contexts[context].module_key_of_text(&text(number));
                    modules.remove(contexts[context].id(), &key);
                }
                Step::Forget(context) => {
                    modules.forget(contexts[context].id());
                }
                Step::Clear => modules.clear(),
                Step::Shrink(entries) => modules.reconfigure(config(entries)),
                Step::UnloadRetired => drop(modules.unload_retired()),
            }
            for function in &kept {
                driver.launch(function.raw());
            }
        }
        drop(modules);
        for function in &kept {
            driver.launch(function.raw());
        }
        drop((kept, contexts));
        settle(&driver, None, 0);
        // The last modules may drop in the unloading thread.
        while driver.count(Operation::Release) < driver.count(Operation::Context) {
            thread::yield_now();
        }
        prop_assert_eq!(driver.violations(), vec![""; 0]);
        prop_assert_eq!(driver.count(Operation::Load), driver.count(Operation::Unload));
        prop_assert_eq!(driver.count(Operation::Context), driver.count(Operation::Release));
    }
}
