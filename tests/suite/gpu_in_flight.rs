//! Modules are taken out of a cache and loaded again while kernels of them run.

use std::thread;

use ptx_cuda::{Argument, Budget, Config, Context, CudaError, Ptx};

use crate::cuda_stack::{lowerings, stack_over};
use crate::gpu_device::{Gpu, gpu};
use crate::gpu_reference_kernels::check;

#[test]
fn reference_kernels_are_right_while_eight_threads_evict_each_others_modules() {
    const THREADS: usize = 8;
    const TURNS: usize = 3;
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    let own = Context::own(&driver, 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Fewer than there are threads: what one launches, others throw out.
    let budget = Budget { entries: 4, bytes: Budget::MOST_BYTES };
    let stack = stack_over(&folder.path().join("store"), Config::with_budget(budget));
    let lowerings = lowerings(context.device().compute_capability);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (stack, lowerings) = (&stack, &lowerings);
            let context = if number.is_multiple_of(2) { &context } else { &own };
            scope.spawn(move || {
                let from = number * lowerings.len() / THREADS;
                let order = lowerings.iter().cycle().skip(from).take(TURNS * lowerings.len());
                for lowering in order {
                    let function = stack.function(context, lowering).unwrap();
                    check(&function, lowering).unwrap();
                }
            });
        }
    });
    let snapshot = stack.modules.snapshot();
    println!("{snapshot:?}");
    assert_eq!(stack.texts.snapshot().lowered, lowerings.len() as u64);
    // Each is assembled once for both contexts, and loaded again many times.
    assert_eq!(snapshot.cubins.assembled, lowerings.len() as u64);
    assert!(snapshot.memory.evicted_entries > lowerings.len() as u64, "{snapshot:?}");
    assert!(snapshot.cubins.hits > lowerings.len() as u64, "{snapshot:?}");
    assert_eq!((context.failed_unloads(), own.failed_unloads()), (0, 0));
}

/// Runs for `nanos`, and then writes `base + i` to `out[i]`.
const SLOW: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry slow(.param .u64 out, .param .u32 base, .param .u64 nanos)
{
    .reg .pred %p1;
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [base];
    ld.param.u64 %rd2, [nanos];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u64 %rd3, %globaltimer;
again:
    mov.u64 %rd4, %globaltimer;
    sub.s64 %rd5, %rd4, %rd3;
    setp.lt.u64 %p1, %rd5, %rd2;
    @%p1 bra again;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd6, %r2, 4;
    add.s64 %rd7, %rd1, %rd6;
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd7], %r3;
    ret;
}
";

#[test]
fn a_kernel_runs_to_its_end_while_its_module_is_retired_and_loaded_again() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let stack = stack_over(&folder.path().join("store"), Config::default());
    let key = context.module_key_of_text(SLOW);
    let load = || {
        let module = stack.modules.get_or_load(&context, &key, || Ptx::new(SLOW)).unwrap();
        module.function("slow").unwrap()
    };
    let run = |function: &ptx_cuda::Function<_>, base: u32, millis: u64| {
        let mut out = [0_u8; 4 * 32];
        let (base_bytes, nanos) = (base.to_le_bytes(), (millis * 1_000_000).to_le_bytes());
        let mut arguments =
            [Argument::Buffer(&mut out), Argument::Value(&base_bytes), Argument::Value(&nanos)];
        function.run([1; 3], [32, 1, 1], 0, &mut arguments)?;
        let numbers =
            out.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
        assert!(numbers.eq(base..base + 32));
        Ok::<_, CudaError>(())
    };
    run(&load(), 0, 0).unwrap();
    let mut reloads = 0;
    thread::scope(|scope| {
        let function = load();
        let running = scope.spawn(move || run(&function, 7, 1000).unwrap());
        while !running.is_finished() {
            stack.modules.clear();
            // Another module of the same text.
            let _ = load();
            stack.modules.unload_retired();
            reloads += 1;
        }
        running.join().unwrap();
    });
    println!("loaded again {reloads} times while a kernel ran");
    assert!(reloads > 1);
    run(&load(), 9, 0).unwrap();
    assert_eq!(context.failed_unloads(), 0);
}
