//! Modules are taken out of a cache and loaded again while kernels of them run.

use std::thread;

use ptx_cuda::{Config, Context, Ptx, Size};

use crate::cuda_stack::{lowerings, stack_over};
use crate::gpu_device::{Gpu, gpu};
use crate::gpu_modules::{FILL, check_fill};
use crate::gpu_reference_kernels::check;

#[test]
fn reference_kernels_are_right_while_eight_threads_evict_each_others_modules() {
    const THREADS: usize = 8;
    const TURNS: usize = 3;
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    let own = Context::own(&driver, 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Fewer than there are threads: what one launches, others throw out.
    let budget = Size { entries: 4, bytes: u64::MAX };
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
    assert!(snapshot.memory.evicted.entries > lowerings.len() as u64, "{snapshot:?}");
    assert!(snapshot.cubins.hits > lowerings.len() as u64, "{snapshot:?}");
    assert_eq!((context.failed_unloads(), own.failed_unloads()), (0, 0));
}

/// A second, before `fill` goes on.
const WAIT: &str = "{
        .reg .pred %waits;
        .reg .b64 %from, %now, %past;
        mov.u64 %from, %globaltimer;
    again:
        mov.u64 %now, %globaltimer;
        sub.s64 %past, %now, %from;
        setp.lt.u64 %waits, %past, 1000000000;
        @%waits bra again;
    }
    mov.u32 %r2, %tid.x";

#[test]
fn a_kernel_runs_to_its_end_while_its_module_is_retired_and_loaded_again() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let stack = stack_over(&folder.path().join("store"), Config::default());
    let slow = FILL.replace("mov.u32 %r2, %tid.x", WAIT).replace("67108864", "4");
    let key = context.module_key_of_text(&slow);
    let load = || stack.modules.get_or_load(&context, &key, || Ptx::new(slow.as_str())).unwrap();
    check_fill(&load(), 0);
    let mut reloads = 0;
    thread::scope(|scope| {
        let module = load();
        let running = scope.spawn(move || check_fill(&module, 7));
        while !running.is_finished() {
            stack.modules.clear();
            // Another module of the same text, loaded whole.
            load().function("fill").unwrap();
            stack.modules.unload_retired();
            reloads += 1;
        }
        running.join().unwrap();
    });
    println!("loaded again {reloads} times while a kernel ran");
    assert!(reloads > 1);
    check_fill(&load(), 9);
    assert_eq!(context.failed_unloads(), 0);
}
