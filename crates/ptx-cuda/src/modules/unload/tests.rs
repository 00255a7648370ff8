//! When modules are unloaded, and by which thread, with the recording driver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use ptx_cache::{Config, Size};
use ptx_key::ComputeCapability;

use crate::assemble::cubin_tests::{section, with_sections};
use crate::{
    Context, Cubin, CudaError, DriverCode, DriverVersion, Failure, JitLog, Module, ModuleCache,
    Operation, Ptx, RecordingDriver,
};

fn text(number: usize) -> String {
    format!(".version 9.0\n.target sm_90\n.entry kernel_{number}() {{ ret; }}\n")
}

fn start() -> (Arc<RecordingDriver>, Context<RecordingDriver>, ModuleCache<RecordingDriver>) {
    let capability = ComputeCapability { major: 9, minor: 0 };
    let driver = RecordingDriver::with_devices(DriverVersion(13_000), &[capability; 2]);
    let context = Context::primary(&driver, 0).unwrap();
    let budget = Size { entries: 4, bytes: u64::MAX };
    (driver, context, ModuleCache::new(Config::with_budget(budget)))
}

fn load(
    modules: &ModuleCache<RecordingDriver>,
    context: &Context<RecordingDriver>,
    number: usize,
) -> Result<Module<RecordingDriver>, CudaError> {
    let text = text(number);
    let key = context.module_key_of_text(&text);
    modules.get_or_load(context, &key, || Ptx::new(text)).map(|served| served.value)
}

fn out_of_memory() -> Failure {
    Failure::Judged { code: DriverCode::OUT_OF_MEMORY, log: JitLog::default() }
}

/// Waits: other tests' threads may delay an epoch.
fn until(holds: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        crossbeam_epoch::pin().flush();
        thread::sleep(Duration::from_micros(50));
    }
    panic!("it never came to hold");
}

#[test]
fn a_hit_never_unloads_what_others_retire() {
    let (driver, context, modules) = start();
    let keys: Vec<_> = (0..4).map(|number| context.module_key_of_text(&text(number))).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for key in &keys {
                        let hit = || modules.with(&context, key, Module::bytes);
                        driver.on_launch_path(hit);
                        // Clones are users too, and any of them may be the last.
                        driver.on_launch_path(|| drop(modules.get(&context, key)));
                    }
                }
            });
        }
        for number in 0..2000 {
            load(&modules, &context, number % 16).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(driver.count(Operation::Unload) > 0);
    drop(modules);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn the_last_user_only_queues_and_the_next_load_unloads() {
    let (driver, context, modules) = start();
    let function = load(&modules, &context, 0).unwrap().function("kernel_0").unwrap();
    let bytes = function.module().bytes();
    modules.clear();
    driver.on_launch_path(|| drop(function));
    // The cache's own reference goes when all threads have passed an epoch.
    until(|| modules.snapshot().retired.entries > 0);
    assert_eq!(modules.snapshot().retired.bytes, bytes);
    assert_eq!((driver.loaded(), driver.count(Operation::Unload)), (1, 0));
    load(&modules, &context, 1).unwrap();
    assert_eq!((driver.loaded(), driver.count(Operation::Unload)), (1, 1));
    assert_eq!(modules.snapshot().retired.entries, 0);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn a_load_that_ran_out_of_memory_frees_some_and_retries() {
    let (driver, context, modules) = start();
    let held = load(&modules, &context, 0).unwrap();
    driver.fail_next(Operation::Load, out_of_memory());
    assert!(load(&modules, &context, 1).is_ok());
    // Once more with what is retired, once more with what nobody uses; what is used stays.
    for _ in 0..3 {
        driver.fail_next(Operation::Load, out_of_memory());
    }
    let error = load(&modules, &context, 2).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    drop(held);
    assert!(load(&modules, &context, 2).is_ok());
}

#[test]
fn a_load_that_ran_out_of_memory_evicts_idle_modules() {
    check_that_idle_modules_are_evicted(Operation::Load);
}

#[test]
fn an_assembly_that_ran_out_of_memory_evicts_idle_modules() {
    check_that_idle_modules_are_evicted(Operation::Assemble);
}

/// The image is small; what the device must hold for it is not.
#[test]
fn eviction_frees_the_bytes_that_a_cubin_takes_on_the_device() {
    use elf::abi::{SHF_ALLOC, SHT_NOBITS, SHT_PROGBITS};

    let (driver, context, modules) = start();
    for number in 0..3 {
        let text = text(number) + &" ".repeat(10_000);
        let key = context.module_key_of_text(&text);
        modules.get_or_load(&context, &key, || Ptx::new(text)).unwrap();
    }
    let sections =
        [section(0, SHT_NOBITS, SHF_ALLOC.into(), 0, 1 << 20), section(11, SHT_PROGBITS, 0, 0, 0)];
    let image = with_sections(b".nv.global\0.nv.constant0.k\0", &sections);
    for _ in 0..2 {
        driver.fail_next(Operation::Load, out_of_memory());
    }
    let key = context.module_key_of_text("the cubin");
    let module = modules.get_or_load(&context, &key, || Cubin::new(image)).unwrap();
    assert_eq!((module.bytes(), driver.loaded()), (1 << 20, 1));
}

fn check_that_idle_modules_are_evicted(running_out: Operation) {
    let (driver, context, modules) = start();
    let other_device = Context::primary(&driver, 1).unwrap();
    let used = load(&modules, &context, 0).unwrap().function("kernel_0").unwrap();
    load(&modules, &context, 1).unwrap();
    load(&modules, &other_device, 2).unwrap();
    for _ in 0..2 {
        driver.fail_next(running_out, out_of_memory());
    }
    load(&modules, &context, 3).unwrap();
    let is_there = |context: &Context<_>, number: usize| {
        modules.get(context, &context.module_key_of_text(&text(number))).is_some()
    };
    assert!(is_there(&context, 0) && is_there(&context, 3) && is_there(&other_device, 2));
    assert!(!is_there(&context, 1));
    assert_eq!(driver.count(Operation::Unload), 1);
    driver.launch(used.raw());
    let snapshot = modules.snapshot();
    let sum: u64 = modules.entries().iter().map(|entry| entry.bytes).sum();
    assert_eq!((snapshot.memory.resident.entries, snapshot.memory.resident.bytes), (3, sum));
    assert_eq!((snapshot.memory.evicted.entries, snapshot.retired.entries), (1, 0));
    assert_eq!(driver.violations(), [""; 0]);
}

/// A module may be loaded lazily.
#[test]
fn a_lookup_that_ran_out_of_memory_evicts_idle_modules() {
    let (driver, context, modules) = start();
    load(&modules, &context, 0).unwrap();
    let module = load(&modules, &context, 1).unwrap();
    let lost = || CudaError::Driver { call: "a lookup", code: DriverCode::OUT_OF_MEMORY };
    for _ in 0..2 {
        driver.fail_next(Operation::Function, lost().into());
    }
    driver.launch(module.raw_function("kernel_1").unwrap());
    assert_eq!((driver.loaded(), driver.count(Operation::Unload)), (1, 1));
    // With nobody's module left, it is an error.
    for _ in 0..2 {
        driver.fail_next(Operation::Global, lost().into());
    }
    assert!(module.global("barrier").unwrap_err().is_out_of_memory());
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn modules_that_an_idle_thread_retired_are_unloaded_by_another() {
    let (driver, context, modules) = start();
    let (loaded, looked) = (Barrier::new(2), Barrier::new(2));
    let settled = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..20 {
                load(&modules, &context, number).unwrap();
            }
            loaded.wait();
            looked.wait();
        });
        loaded.wait();
        let settled = (0..10_000).any(|_| {
            modules.unload_retired();
            thread::sleep(Duration::from_micros(50));
            driver.loaded() == 4
        });
        looked.wait();
        settled
    });
    assert!(settled, "{} are loaded", driver.loaded());
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn unloading_after_a_destroyed_context_does_not_crash() {
    let (driver, context, modules) = start();
    let own = Context::own(&driver, 0).unwrap();
    let users = [load(&modules, &context, 0).unwrap(), load(&modules, &own, 0).unwrap()];
    driver.destroy(own.id());
    modules.clear();
    drop(users);
    until(|| {
        modules.unload_retired();
        driver.count(Operation::Unload) == 2
    });
    assert_eq!((driver.loaded(), driver.violations()), (0, vec![]));
    assert_eq!((context.failed_unloads(), own.failed_unloads()), (0, 0));
    drop((own, modules, context));
    assert_eq!(driver.count(Operation::Release), 2);
}

#[test]
fn a_module_that_outlives_the_cache_is_unloaded_by_its_last_user() {
    let (driver, context, modules) = start();
    let module = load(&modules, &context, 0).unwrap();
    drop(modules);
    assert_eq!(driver.loaded(), 1);
    drop(module);
    assert_eq!((driver.loaded(), driver.violations()), (0, vec![]));
}

#[test]
fn a_module_that_outlives_the_cache_and_drops_in_a_hit_is_unloaded_in_another_thread() {
    let (driver, context, modules) = start();
    let module = load(&modules, &context, 0).unwrap();
    drop(modules);
    let pinned = crossbeam_epoch::pin();
    driver.on_launch_path(|| drop(module));
    drop(pinned);
    until(|| driver.loaded() == 0);
    assert_eq!(driver.violations(), [""; 0]);
}

/// Each unload may wait for the device.
#[cfg(target_os = "linux")]
#[test]
fn one_thread_unloads_all_modules_that_drop_in_hits_after_the_cache() {
    const MODULES: usize = 50;
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let users: Vec<_> =
        (0..MODULES).map(|number| load(&modules, &context, number).unwrap()).collect();
    drop(modules);
    let unloading = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "ptx-cuda unload").count()
    };
    let busy = driver.busy();
    let pinned = crossbeam_epoch::pin();
    drop(users);
    drop(pinned);
    let threads = unloading();
    drop(busy);
    // Other tests may have one too.
    assert!(threads < MODULES / 2, "{threads} threads unload");
    until(|| driver.loaded() == 0);
    assert_eq!(driver.violations(), [""; 0]);
}
