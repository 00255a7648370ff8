//! For front ends that call the driver themselves: the driver's handles from the cache.
//!
//! A handle does not show how long it is valid: as long as the [`Module`] that it came
//! from, or a [`Function`] of it, is kept. Here both stay together.

use std::error::Error;

use ptx_cuda::cust::sys::{CUfunction, CUmodule};
use ptx_cuda::{Config, Context, CudaError, CustDriver, Function, ModuleCache, Ptx};

const TEXT: &str = "\
.version 8.0
.target sm_70
.visible .entry nothing() { ret; }
";

/// What another front end receives.
struct Raw {
    module: CUmodule,
    function: CUfunction,
    /// Keeps both valid. Dropping it calls no driver: the cache unloads the module at its next
    /// load.
    keeps: Function<CustDriver>,
}

fn raw(
    modules: &ModuleCache<CustDriver>,
    context: &Context<CustDriver>,
    text: &str,
    kernel: &str,
) -> Result<Raw, CudaError> {
    let key = context.module_key_of_text(text);
    let keeps = modules.get_or_load(context, &key, || Ptx::new(text))?.function(kernel)?;
    let module = keeps.module().raw().as_raw();
    Ok(Raw { module, function: keeps.raw().as_raw(), keeps })
}

fn main() -> Result<(), Box<dyn Error>> {
    let context = Context::primary(&CustDriver::new()?, 0)?;
    let modules = ModuleCache::new(Config::default());
    let Raw { module, function, keeps } = raw(&modules, &context, TEXT, "nothing")?;
    println!("CUmodule {module:?}, CUfunction {function:?}, kept by {keeps:?}");
    Ok(())
}
