//! One kernel from a program to a launch: program, key, text, module, function.
//!
//! It runs on the recording driver, so it needs no GPU:
//!
//! ```text
//! cargo run -p ptx-cuda --example full_path
//! ```

use std::convert::Infallible;
use std::error::Error;

use ptx_cache::PtxCache;
use ptx_cuda::{
    Config, Context, CudaError, Driver, Function, ModuleCache, Operation, Ptx, RecordingDriver,
};
use ptx_key::{
    Configuration, Contract, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, Lanes, PtxKey,
};

/// A program of a tiny back end: adds a constant to every element of a buffer.
struct AddConstant {
    constant: u32,
}

/// What identifies the program. Equal identities must lower to equal text.
impl Identity for AddConstant {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str("add-constant");
        lanes.u64(self.constant.into());
    }
}

/// The back end's slow step.
fn lower(program: &AddConstant, configuration: &Configuration) -> String {
    println!("  lower `add` with the constant {}", program.constant);
    format!(
        ".version {}\n.target {}\n.address_size 64\n\
         .visible .entry add(.param .u64 buffer)\n{{\n    .reg .u32 %i, %x;\n    \
         .reg .u64 %a, %o;\n    ld.param.u64 %a, [buffer];\n    mov.u32 %i, %tid.x;\n    \
         mul.wide.u32 %o, %i, 4;\n    add.u64 %a, %a, %o;\n    ld.global.u32 %x, [%a];\n    \
         add.u32 %x, %x, {};\n    st.global.u32 [%a], %x;\n    ret;\n}}\n",
        configuration.isa, configuration.target, program.constant,
    )
}

/// The caches of a process.
struct Kernels<D: Driver> {
    configuration: Configuration,
    texts: PtxCache,
    context: Context<D>,
    modules: ModuleCache<D>,
}

impl<D: Driver> Kernels<D> {
    /// The function of a program. `key` is the program's key: a back end keeps it with the program,
    /// so that a repeated launch computes none.
    fn function(&self, program: &AddConstant, key: &PtxKey) -> Result<Function<D>, CudaError> {
        let module_key = self.context.module_key(key);
        let module = self.modules.get_or_load(&self.context, &module_key, || {
            let lower = || Ok::<_, Infallible>(lower(program, &self.configuration));
            let text = self.texts.get_or_lower(key, lower).map_err(CudaError::Cache)?;
            Ptx::of(&text)
        })?;
        println!("  the module comes from {:?}", module.source);
        module.function("add")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // With the feature `cuda` and a GPU: `CustDriver::new()?`.
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0)?;
    println!("driver {} on {}", context.driver_version(), context.device().name);
    let kernels = Kernels {
        configuration: Configuration {
            contract: Contract::new("full-path", 1),
            target: "sm_90".parse()?,
            isa: "8.0".parse()?,
            subgroup_size: 32,
            policy: DispatchPolicy::default(),
            features: FeatureFlags::default(),
            toolchain: None,
        },
        texts: PtxCache::new(Config::default()),
        modules: ModuleCache::new(Config::default()),
        context,
    };

    let program = AddConstant { constant: 7 };
    let key = KeyBuilder::new(&kernels.configuration)?.key(&program);
    for launch in 1..=3 {
        println!("launch {launch} of {key:.12}");
        let add = kernels.function(&program, &key)?;
        driver.launch(add.raw());
    }

    println!("the driver was called to:");
    for call in driver.calls() {
        println!("  {call:?}");
    }
    // Three launches took one lowering, one assembly and one load.
    let counts = [Operation::Assemble, Operation::Load, Operation::Launch]
        .map(|operation| driver.count(operation));
    if kernels.texts.snapshot().lowered != 1 || counts != [1, 1, 3] {
        return Err(format!("calls of the driver: {counts:?}, not [1, 1, 3]").into());
    }
    Ok(())
}
