//! A module and its users, with the recording driver.

use std::sync::Arc;
use std::thread;

use ptx_key::ComputeCapability;

use crate::{
    Call, Context, CudaError, DriverCode, DriverVersion, Failure, Image, Operation, Ptx,
    RecordingDriver,
};

const TEXT: &str = ".version 9.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }\n";

fn text() -> Image {
    Ptx::new(TEXT).unwrap().into()
}

fn start() -> (Arc<RecordingDriver>, Context<RecordingDriver>) {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    (driver, context)
}

#[test]
fn a_module_is_unloaded_once_after_its_last_user() {
    let (driver, context) = start();
    let module = context.load(&text()).unwrap();
    let function = module.function("a").unwrap();
    let (another, clone) = (function.clone(), module.clone());
    drop(module);
    drop(function);
    drop(clone);
    assert_eq!(driver.count(Operation::Unload), 0);
    driver.launch(another.raw());
    drop(another);
    assert_eq!(driver.count(Operation::Unload), 1);
    assert_eq!((driver.loaded(), driver.violations()), (0, vec![]));
}

#[test]
fn the_driver_looks_each_name_up_once() {
    let (driver, context) = start();
    driver.define_global("barrier", 4);
    let module = context.load(&text()).unwrap();
    for _ in 0..3 {
        assert_eq!(module.function("a").unwrap().raw(), module.raw_function("a").unwrap());
        let barrier = module.global("barrier").unwrap().unwrap();
        assert_eq!(barrier.bytes, 4);
        assert_eq!(module.global("absent").unwrap(), None);
    }
    assert_eq!(driver.count(Operation::Function), 1);
    assert_eq!(driver.count(Operation::Global), 2);
    assert_ne!(module.raw_function("a").unwrap(), module.raw_function("b").unwrap());
}

#[test]
fn an_absent_function_is_named_beside_those_that_exist() {
    let (driver, context) = start();
    let module = context.load(&text()).unwrap();
    let error = module.function("saxpy").unwrap_err().to_string();
    assert_eq!(error, "the module has no function `saxpy`; it has `a`, `b`");
    let _ = module.function("saxpy").unwrap_err();
    assert_eq!(driver.count(Operation::Function), 1);
}

#[test]
fn a_text_that_was_cut_off_after_its_header_fails_at_the_first_function() {
    let (_driver, context) = start();
    let header = Ptx::new(".version 9.0\n.target sm_90\n").unwrap();
    let error = context.load(&header.into()).unwrap().function("a").unwrap_err().to_string();
    assert!(error.contains("no kernel at all and may end too early"), "{error}");
}

#[test]
fn an_error_of_a_lookup_is_not_remembered() {
    let (driver, context) = start();
    let module = context.load(&text()).unwrap();
    let lost = CudaError::Driver { call: "a call", code: DriverCode::UNKNOWN };
    driver.fail_next(Operation::Function, lost.into());
    assert!(matches!(module.function("a"), Err(CudaError::Driver { .. })));
    assert!(module.function("a").is_ok());
}

#[test]
fn a_module_keeps_its_context_and_is_unloaded_before_it() {
    let (driver, context) = start();
    let function = context.load(&text()).unwrap().function("a").unwrap();
    drop(context);
    assert_eq!(driver.count(Operation::Release), 0);
    drop(function);
    let calls = driver.calls();
    let last: Vec<_> = calls.iter().rev().take(2).map(Call::operation).collect();
    assert_eq!(last, [Operation::Release, Operation::Unload]);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn a_module_may_drop_on_any_thread_and_after_the_driver_handle() {
    let (driver, context) = start();
    let module = context.load(&text()).unwrap();
    drop(context);
    let watched = Arc::clone(&driver);
    drop(driver);
    thread::spawn(move || drop(module)).join().unwrap();
    assert_eq!((watched.loaded(), watched.violations()), (0, vec![]));
}

#[test]
fn each_module_is_unloaded_in_its_own_context() {
    let capability = ComputeCapability { major: 9, minor: 0 };
    let driver = RecordingDriver::with_devices(DriverVersion(13_000), &[capability; 2]);
    let contexts = [
        Context::primary(&driver, 0).unwrap(),
        Context::primary(&driver, 1).unwrap(),
        Context::own(&driver, 1).unwrap(),
    ];
    let modules: Vec<_> = contexts.iter().map(|context| context.load(&text()).unwrap()).collect();
    let [first, second, own] = contexts.map(|context| context.id());
    assert!(first.device == 0 && second.device == 1 && own.device == 1 && second != own);
    let mut releases = 0;
    for (module, id) in modules.into_iter().zip([first, second, own]) {
        drop(module);
        releases += 1;
        assert_eq!(driver.calls().last(), Some(&Call::Release(id)));
        assert_eq!(driver.count(Operation::Release), releases);
    }
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn a_destroyed_context_causes_errors_and_no_crash() {
    let (driver, context) = start();
    let module = context.load(&text()).unwrap();
    let function = module.function("a").unwrap();
    driver.destroy(context.id());
    let gone = |error| match error {
        CudaError::Driver { code, .. } => code.context_is_gone(),
        _ => false,
    };
    assert!(gone(module.function("b").unwrap_err()));
    assert!(gone(context.load(&text()).unwrap_err()));
    drop((module, function));
    assert_eq!(driver.count(Operation::Unload), 1);
    assert_eq!((context.failed_unloads(), driver.violations()), (0, vec![]));
}

#[test]
fn an_unload_that_fails_is_counted() {
    let (driver, context) = start();
    let busy = CudaError::Driver { call: "cuModuleUnload", code: DriverCode::UNKNOWN };
    driver.fail_next(Operation::Unload, busy.into());
    drop(context.load(&text()).unwrap());
    drop(context.load(&text()).unwrap());
    assert_eq!(context.failed_unloads(), 1);
}

#[test]
fn an_assembled_cubin_loads_like_its_text() {
    let (driver, context) = start();
    let assembled = context.assemble(&Ptx::new(TEXT).unwrap()).unwrap();
    assert_eq!(assembled.cubin.architecture(), "sm_90");
    let module = context.load(&assembled.cubin.into()).unwrap();
    assert!(module.function("b").is_ok());
    assert_eq!(driver.count(Operation::Assemble), 1);
    // Which kernels a cubin has is not known beforehand.
    let error = module.function("c").unwrap_err().to_string();
    assert_eq!(error, "the module has no function `c`");
}

#[test]
fn options_count_in_the_key_and_reach_the_driver() {
    let (_, context) = start();
    let mut options = ptx_key::JitOptions { max_registers: Some(64), ..Default::default() };
    let other = context.with_options(options.clone());
    assert_ne!(context.module_key_of_text(TEXT), other.module_key_of_text(TEXT));
    assert_eq!(context.id(), other.id());
    assert!(other.load(&text()).is_ok());
    options.named.insert("fmad".to_owned(), false.into());
    let error = context.with_options(options).load(&text()).unwrap_err();
    assert!(matches!(error, CudaError::UnsupportedOption { .. }), "{error}");
}

#[test]
fn a_refusal_carries_log_line_and_cure() {
    let (driver, context) = start();
    let log = "ptxas application ptx input, line 3; error   : Unknown symbol 'x'";
    let judged = Failure::Judged { code: DriverCode::INVALID_PTX, log: crate::JitLog::new(log) };
    driver.fail_next(Operation::Load, judged);
    let error = context.load(&text()).unwrap_err();
    let refused = error.refused().unwrap();
    assert_eq!((refused.line, refused.kernel.as_deref()), (Some(3), Some("a")));
    assert_eq!(refused.log.text(), log);
    assert_eq!(refused.assembler, "the CUDA driver 13.0");
    assert!(error.to_string().contains("fix the lowering at this line"), "{error}");
}
