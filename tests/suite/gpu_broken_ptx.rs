//! Each way in which a text can be broken makes the real driver refuse it, and an error that names
//! the line and the cure.

use ptx_cuda::{Config, CudaError, Ptx, Refused};

use crate::cuda_broken_ptx::{broken, lacks};
use crate::cuda_stack::{Stack, lowerings};
use crate::gpu_device::{Gpu, gpu};

#[test]
fn the_driver_refuses_and_the_error_names_line_and_cure() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let mut failed = Vec::new();
    for broken in broken(context.device().compute_capability) {
        let ptx = Ptx::new(broken.text.as_str()).unwrap();
        for (by, result) in [
            ("load", context.load(&ptx.clone().into()).map(drop)),
            ("linker", context.assemble(&ptx).map(drop)),
        ] {
            let error = result.expect_err(broken.what);
            println!("-- {by}: {:?}", error.refused().map(|refused| refused.log.text()));
            // All rows are printed before the test ends.
            if let Some(lack) = lacks(&broken, &error) {
                failed.push(format!("{by}, {}: {lack}", broken.what));
            }
        }
    }
    assert_eq!(failed, [""; 0]);
}

#[test]
fn a_refusal_leaves_the_context_in_order() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let stack = Stack::new(Config::default());
    let lowering = &lowerings(context.device().compute_capability)[0];
    for broken in broken(context.device().compute_capability) {
        let key = context.module_key_of_text(&broken.text);
        let load = || Ptx::new(broken.text.as_str());
        let first = stack.modules.get_or_load(&context, &key, load).unwrap_err();
        if first.refused().is_some_and(Refused::may_be_damaged) {
            continue;
        }
        let never = || -> Result<Ptx, CudaError> { panic!("asked again") };
        let again = stack.modules.get_or_load(&context, &key, never).unwrap_err();
        assert_eq!(first.to_string(), again.to_string());
        assert!(stack.function(&context, lowering).is_ok());
    }
}
