//! Where a real device's memory runs out, modules that nobody uses make room.

use ptx_cuda::cust::memory::DeviceBuffer;
use ptx_cuda::{Config, ModuleCache, Ptx, Size};

use crate::gpu_device::{Gpu, gpu};
use crate::gpu_modules::{BALLAST, FILL, check_fill};

#[test]
fn modules_that_nobody_uses_make_room_on_a_full_device() {
    const MODULES: u32 = 12;
    let Some(Gpu { context, .. }) = gpu() else { return };
    let modules = ModuleCache::new(Config::with_budget(Size::UNBOUNDED));
    let load = |number: u32| {
        let text = format!("// {number}{FILL}");
        let key = context.module_key_of_text(&text);
        modules.get_or_load(&context, &key, || Ptx::new(text)).unwrap()
    };
    // What the driver keeps for itself is allocated by the first load.
    let used = load(0);
    check_fill(&used, 0);
    let entered = context.enter().unwrap();
    let room = usize::try_from(BALLAST * 4 + BALLAST / 2).unwrap();
    let free = usize::try_from(context.free_bytes().unwrap()).unwrap();
    let filler = DeviceBuffer::<u8>::zeroed(free - room).unwrap();
    for number in 1..MODULES {
        check_fill(&load(number), number);
    }
    check_fill(&used, 1);
    let snapshot = modules.snapshot();
    println!("{snapshot:?}");
    assert!(snapshot.memory.evicted.entries >= u64::from(MODULES) - 5, "{snapshot:?}");
    assert!(snapshot.memory.resident.entries >= 2, "{snapshot:?}");
    assert_eq!(context.failed_unloads(), 0);
    drop(filler);
    drop(entered);
}
