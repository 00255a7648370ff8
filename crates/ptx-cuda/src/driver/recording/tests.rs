//! The recording driver reports every broken rule.

use super::*;
use crate::Context;

fn ptx(text: &str) -> Ptx {
    Ptx::new(text).unwrap()
}

fn kernel() -> Image {
    ptx(".version 9.0\n.target sm_90\n.entry a() { ret; }").into()
}

fn load(driver: &RecordingDriver, context: &RecordedContext) -> RecordedModule {
    driver.load(context, &kernel(), &JitOptions::default()).unwrap().module
}

#[test]
fn use_after_unload_is_reported() {
    let driver = RecordingDriver::new();
    let context = driver.primary_context(0).unwrap();
    let module = load(&driver, &context);
    let function = driver.function(&module, c"a").unwrap().unwrap();
    driver.launch(function);
    driver.unload(module).unwrap();
    assert_eq!(driver.violations(), [""; 0]);

    driver.launch(function);
    assert!(driver.function(&module, c"a").is_err());
    assert!(driver.global(&module, c"a").is_err());
    assert!(driver.unload(module).is_err());
    driver.launch(RecordedFunction(99));
    let violations = driver.violations();
    let expected =
        ["cuLaunchKernel", "cuModuleGetFunction", "cuModuleGetGlobal", "cuModuleUnload", "launch"];
    for (violation, expected) in violations.iter().zip(expected) {
        assert!(violation.contains(expected), "{violation}");
    }
    assert_eq!(violations.len(), expected.len());
}

#[test]
fn a_context_released_before_its_modules_is_reported() {
    let driver = RecordingDriver::new();
    let context = driver.primary_context(0).unwrap();
    let module = load(&driver, &context);
    let id = driver.context_id(&context);
    drop(context);
    assert_eq!(driver.violations(), [format!("{id} was released with 1 modules in it")]);
    assert!(matches!(driver.unload(module), Err(CudaError::Driver { code, .. })
        if code.context_is_gone()));
}

#[test]
fn a_primary_context_is_the_same_while_it_is_retained() {
    let driver = RecordingDriver::new();
    let first = driver.primary_context(0).unwrap();
    let second = driver.primary_context(0).unwrap();
    let id = driver.context_id(&first);
    assert_eq!(driver.context_id(&second), id);
    assert_ne!(driver.context_id(&driver.own_context(0).unwrap()), id);
    drop((first, second));
    assert_ne!(driver.context_id(&driver.primary_context(0).unwrap()), id);
}

#[test]
fn a_primary_context_that_was_destroyed_is_created_again() {
    let driver = RecordingDriver::new();
    let gone = driver.primary_context(0).unwrap();
    driver.destroy(driver.context_id(&gone));
    let context = driver.primary_context(0).unwrap();
    assert_ne!(driver.context_id(&context), driver.context_id(&gone));
    load(&driver, &context);
    drop(gone);
    load(&driver, &context);
}

#[test]
fn failures_come_once_and_in_order() {
    let driver = RecordingDriver::new();
    let lost = |code| CudaError::Driver { call: "a call", code: DriverCode(code) };
    driver.fail_next(Operation::Context, lost(1).into());
    driver.fail_next(Operation::Context, lost(2).into());
    let code = |result: Result<RecordedContext, CudaError>| match result {
        Err(CudaError::Driver { code, .. }) => code.0,
        _ => 0,
    };
    let codes = [(); 3].map(|()| code(driver.primary_context(0)));
    assert_eq!(codes, [1, 2, 0]);
}

#[test]
fn texts_are_refused_by_their_header() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    for (text, expected) in [
        (".version 9.1\n.target sm_90", "lower for PTX ISA 9.0"),
        (".version 9.0\n.target sm_100", "the device's architecture (sm_90)"),
        (".version 9.0\n\n.target sm_80a", "line 3"),
    ] {
        let error = context.load(&ptx(text).into()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        let error = context.assemble(&ptx(text)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Context::primary(&driver, 7).unwrap_err().to_string();
    assert!(error.contains("no device of this number"), "{error}");
}

#[test]
fn a_foreign_cubin_is_refused() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let cubin = Cubin::new(smallest_cubin(90, b"machine code")).unwrap();
    let error = context.load(&cubin.into()).unwrap_err();
    assert_eq!(error.refused().unwrap().reason, crate::Reason::InvalidImage);
    assert!(error.to_string().contains("remove it and assemble again"), "{error}");
}

#[test]
fn builds_do_not_share_keys() {
    let jit = |build: Option<&str>| {
        let driver = RecordingDriver::of_build(build.map(DriverBuild::new));
        Context::primary(&driver, 0).unwrap().jit().clone()
    };
    let [old, new, unknown] = [Some("580.65.06"), Some("580.95.05"), None].map(jit);
    assert_ne!(old.key_of_text("text"), new.key_of_text("text"));
    assert!(old.assembler.is_exact() && !unknown.assembler.is_exact());
}
