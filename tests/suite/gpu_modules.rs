//! Modules on a real device: loaded, launched, looked into, and unloaded after their last user.

use std::sync::Arc;
use std::thread;

use ptx_cuda::{
    Argument, Config, Context, Cubin, CudaError, CustDriver, Image, Module, ModuleCache, Ptx, Size,
};
use ptx_tests::Role;

use crate::gpu_device::{Gpu, gpu};

/// Writes `base + i` to `out[i]`, and holds 64 MiB in a global variable.
pub(crate) const FILL: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 grid_barrier;
.visible .global .align 16 .b8 ballast[67108864];
.visible .entry fill(.param .u64 out, .param .u32 base)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [base];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd3], %r3;
    ret;
}
";
pub(crate) const BALLAST: u64 = 64 << 20;
/// What the driver may keep for itself of memory that was given back: less than a module here.
const SLACK: u64 = 4 << 20;

/// Writes through the address that it is given.
const POKE: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry poke(.param .u64 at)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
    st.global.u32 [%rd1], 1;
    ret;
}
";

fn image(text: &str) -> Image {
    Ptx::new(text).unwrap().into()
}

pub(crate) fn check_fill(module: &Module<CustDriver>, base: u32) {
    let mut out = vec![0_u8; 4 * 64];
    let mut arguments = [Argument::Buffer(&mut out), Argument::Value(&base.to_le_bytes())];
    module.function("fill").unwrap().run([1; 3], [64, 1, 1], 0, &mut arguments).unwrap();
    let numbers: Vec<_> =
        out.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(numbers, (base..base + 64).collect::<Vec<_>>());
}

#[test]
fn a_text_and_its_cubin_compute_the_same() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    check_fill(&context.load(&image(FILL)).unwrap(), 100);
    let assembled = context.assemble(&Ptx::new(FILL).unwrap()).unwrap();
    println!("{:?}, log: {}", assembled.cubin, assembled.log);
    let capability = context.device().compute_capability;
    let expected = format!("sm_{}{}", capability.major, capability.minor);
    assert_eq!(assembled.cubin.architecture(), expected);
    assert!(assembled.cubin.device_bytes() >= BALLAST, "{}", assembled.cubin.device_bytes());
    check_fill(&context.load(&assembled.cubin.into()).unwrap(), 7);
}

#[test]
fn options_reach_the_driver() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let assemble = |context: &Context<_>| context.assemble(&Ptx::new(FILL).unwrap()).unwrap().cubin;
    let plain = assemble(&context);
    for options in [
        ptx_key::JitOptions { optimization_level: Some(0), ..Default::default() },
        ptx_key::JitOptions { max_registers: Some(32), ..Default::default() },
        ptx_key::JitOptions { debug_info: true, line_info: true, ..Default::default() },
    ] {
        println!("{options:?}");
        let context = context.with_options(options);
        check_fill(&context.load(&image(FILL)).unwrap(), 3);
        let cubin = assemble(&context);
        assert_ne!(cubin, plain);
        check_fill(&context.load(&cubin.into()).unwrap(), 4);
    }
}

#[test]
fn a_global_has_an_address_and_a_length_and_an_absent_one_is_none() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let module = context.load(&image(FILL)).unwrap();
    let barrier = module.global("grid_barrier").unwrap().unwrap();
    assert!(barrier.bytes == 4 && barrier.pointer.0 != 0, "{barrier:?}");
    assert_eq!(module.global("ballast").unwrap().unwrap().bytes, BALLAST);
    assert_eq!(module.global("absent").unwrap(), None);
    let error = module.function("absent").unwrap_err().to_string();
    assert_eq!(error, "the module has no function `absent`; it has `fill`");
}

#[test]
fn a_module_is_unloaded_only_after_its_last_user() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    // What the driver keeps for itself is allocated by the first load.
    check_fill(&context.load(&image(FILL)).unwrap(), 0);
    let before = context.free_bytes().unwrap();
    let module = context.load(&image(FILL)).unwrap();
    // Modules may be loaded lazily: a use makes it whole.
    check_fill(&module, 1);
    let function = module.function("fill").unwrap();
    let taken = before - context.free_bytes().unwrap();
    assert!(taken >= BALLAST, "{taken} bytes taken");
    drop(module);
    let still = before - context.free_bytes().unwrap();
    assert!(still >= BALLAST, "{taken} bytes taken, {still} with a user left");
    check_fill(function.module(), 2);
    thread::spawn(move || drop(function)).join().unwrap();
    let after = context.free_bytes().unwrap();
    println!("free before {before}, taken {taken}, free after {after}");
    assert!(after + SLACK >= before, "not unloaded");
    assert_eq!(context.failed_unloads(), 0);
}

#[test]
fn one_key_in_two_contexts_is_two_modules() {
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    let own = Context::own(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let key = context.module_key_of_text(FILL);
    let load = |context| modules.get_or_load(context, &key, || Ptx::new(FILL)).unwrap();
    let (first, second) = (load(&context), load(&own));
    let barrier = |module: &Module<_>| module.global("grid_barrier").unwrap().unwrap().pointer;
    assert_ne!(barrier(&first), barrier(&second));
    thread::scope(|scope| {
        for module in [&first, &second] {
            for base in 0..4 {
                scope.spawn(move || check_fill(module, base));
            }
        }
    });
    assert_eq!(modules.forget(own.id()), 1);
    check_fill(&second, 9);
    drop((second, own));
    check_fill(&first, 10);
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_the_launch() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let fill = context.load(&image(FILL)).unwrap().function("fill").unwrap();
    let mut out = [0_u8; 4];
    for arguments in [
        &mut [][..],
        &mut [Argument::Buffer(&mut out), Argument::Value(&[0; 8])],
        &mut [Argument::Value(&[0; 8]), Argument::Value(&[0; 4]), Argument::Value(&[0; 4])],
    ] {
        let error = fill.run([1; 3], [1; 3], 0, arguments).unwrap_err();
        assert!(matches!(error, CudaError::Arguments { .. }), "{error}");
        assert!(error.to_string().contains("[8, 4]"), "{error}");
    }
    let error = fill.run(
        [1; 3],
        [4096, 1, 1],
        0,
        &mut [Argument::Buffer(&mut out), Argument::Value(&[0; 4])],
    );
    assert!(matches!(error, Err(CudaError::Driver { call: "cuLaunchKernel", .. })), "{error:?}");
}

#[test]
fn the_calling_threads_own_context_stays_current() {
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    let own = Context::own(&driver, 0).unwrap();
    let current = || {
        let current = ptx_cuda::cust::context::legacy::CurrentContext::get_current().unwrap();
        format!("{current:?}")
    };
    let none = current();
    let entered = own.enter().unwrap();
    let before = current();
    assert_ne!(before, none);
    let module = context.load(&image(FILL)).unwrap();
    check_fill(&module, 5);
    drop(module);
    let another = Context::own(&driver, 0).unwrap();
    drop((another, Context::primary(&driver, 0).unwrap()));
    assert_eq!(current(), before);
    drop(entered);
    assert_eq!(current(), none);
}

const LOST: Role = Role::new("gpu_modules::a_context_is_lost");

/// A fault ends every later call in the process's contexts, so it has a process of its own.
#[test]
fn a_lost_context_makes_errors_and_no_crash() {
    let Some(_gpu) = gpu() else { return };
    let child = LOST.command("").unwrap().output().unwrap();
    println!("{}", String::from_utf8_lossy(&child.stdout));
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn a_context_is_lost() {
    if LOST.argument().is_none() {
        return;
    }
    let driver = CustDriver::new().unwrap();
    let context = Context::primary(&driver, 0).unwrap();
    let module = context.load(&image(FILL)).unwrap();
    let poke = context.load(&image(POKE)).unwrap().function("poke").unwrap();
    let mut nowhere = [Argument::Value(&[0; 8])];
    let error = poke.run([1; 3], [1; 3], 0, &mut nowhere).unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("compute-sanitizer"), "{error}");
    let error = context.load(&image(FILL)).unwrap_err();
    println!("{error}");
    drop((module, poke));
    println!("{} modules not unloaded", context.failed_unloads());
    drop((context, driver));
}

#[test]
fn ten_thousand_rounds_leave_the_devices_memory_as_it_was() {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 10_000;
    const MODULES: u32 = 16;
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    let own = Context::own(&driver, 0).unwrap();
    let small = FILL.replace("67108864", "1048576");
    let cubins: Arc<[Cubin]> = (0..MODULES)
        .map(|number| {
            let text = small.replace(
                "add.u32 %r3, %r1, %r2",
                &format!("add.u32 %r3, %r1, {number};\n    add.u32 %r3, %r3, %r2"),
            );
            context.assemble(&Ptx::new(text).unwrap()).unwrap().cubin
        })
        .collect();
    let round = |modules: &ModuleCache<CustDriver>, round: u32| {
        let context = if round.is_multiple_of(2) { &context } else { &own };
        let number = round.wrapping_mul(0x9e37_79b9) >> 16 & (MODULES - 1);
        let key = context.module_key_of_text(&format!("module {number}"));
        let cubin = &cubins[usize::try_from(number).unwrap()];
        let load = || Ok::<_, CudaError>(cubin.clone());
        let module = modules.get_or_load(context, &key, load).unwrap();
        let mut out = [0_u8; 4 * 32];
        let round_bytes = round.to_le_bytes();
        let mut arguments = [Argument::Buffer(&mut out), Argument::Value(&round_bytes)];
        module.function("fill").unwrap().run([1; 3], [32, 1, 1], 0, &mut arguments).unwrap();
        let last = u32::from_le_bytes(out[124..].try_into().unwrap());
        assert_eq!(last, round + number + 31, "round {round}");
    };
    let all_rounds = |rounds: u32| {
        let budget = Size { entries: 6, bytes: u64::MAX };
        let modules = ModuleCache::new(Config::with_budget(budget));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (round, modules) = (&round, &modules);
                scope.spawn(move || {
                    (thread..rounds).step_by(THREADS as usize).for_each(|at| round(modules, at));
                });
            }
        });
        let snapshot = modules.snapshot().memory;
        println!("{snapshot:?}");
        snapshot
    };
    all_rounds(ROUNDS / 10);
    settle();
    let before = [context.free_bytes().unwrap(), own.free_bytes().unwrap()];
    let snapshot = all_rounds(ROUNDS);
    assert!(snapshot.evicted.entries > u64::from(MODULES), "{snapshot:?}");
    settle();
    let after = [context.free_bytes().unwrap(), own.free_bytes().unwrap()];
    println!("free before {before:?}, after {after:?}");
    assert!(after[0] + SLACK >= before[0] && after[1] + SLACK >= before[1]);
    assert_eq!((context.failed_unloads(), own.failed_unloads()), (0, 0));
}

/// Has modules that were retired unloaded now and not later.
fn settle() {
    for _ in 0..64 {
        crossbeam_epoch::pin().flush();
    }
}
