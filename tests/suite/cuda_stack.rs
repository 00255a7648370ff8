//! Key → PTX in memory → module → function, for every reference kernel, under any driver.

use std::path::Path;
use std::sync::Arc;

use ptx_cache::{Config, PtxCache, Store, WritePolicy};
use ptx_cuda::{
    Context, CudaError, Driver, Function, ModuleCache, Operation, Ptx, RecordingDriver,
};
use ptx_disk::DiskStore;
use ptx_ir::reference::{self, Reference};
use ptx_ir::{CONTRACT_VERSION, Interface, lower, oldest_isa};
use ptx_key::{
    ComputeCapability, Configuration, Contract, DispatchPolicy, Feature, FeatureFlags, KeyBuilder,
    PtxIsa, PtxKey, Target,
};

/// How a reference kernel is lowered in these suites: with every feature that the target has, or
/// with halves alone, which nothing can stand in for.
pub(crate) fn configuration(target: &str, all_features: bool) -> Configuration {
    let target: Target = target.parse().unwrap();
    let has = |feature: &Feature| match feature {
        Feature::Bf16 | Feature::AsyncCompute => all_features && target.number >= 80,
        Feature::F16 => true,
        _ => all_features,
    };
    Configuration {
        contract: Contract::new("ptx-ir", CONTRACT_VERSION),
        target,
        isa: oldest_isa(target).unwrap().max(PtxIsa::new(7, 0)),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of(Feature::ALL.into_iter().filter(has)),
        toolchain: None,
    }
}

/// The base targets that a device runs, the newest first, and its own with the letter `a`, from
/// 9.0 on.
pub(crate) fn targets_of(device: ComputeCapability) -> Vec<String> {
    let number = device.major * 10 + device.minor;
    let own = (number >= 90).then(|| format!("sm_{number}a"));
    let bases = [90, 80, 75, 70].into_iter().filter(|base| *base <= number);
    own.into_iter().chain(bases.map(|base| format!("sm_{base}"))).collect()
}

/// A reference kernel under a configuration, and its launch.
pub(crate) struct Lowering {
    pub(crate) reference: Reference,
    pub(crate) configuration: Configuration,
    pub(crate) interface: Interface,
}

/// Every reference kernel for every target of a device, with and without features.
pub(crate) fn lowerings(device: ComputeCapability) -> Vec<Lowering> {
    let mut lowerings = Vec::new();
    for target in targets_of(device) {
        for all_features in [true, false] {
            for reference in reference::all().unwrap() {
                let configuration = configuration(&target, all_features);
                let interface = Interface::of(&reference.kernel, &configuration).unwrap();
                lowerings.push(Lowering { reference, configuration, interface });
            }
        }
    }
    lowerings
}

/// The caches from key to module.
pub(crate) struct Stack<D: Driver> {
    pub(crate) texts: PtxCache,
    pub(crate) modules: ModuleCache<D>,
}

impl<D: Driver> Stack<D> {
    pub(crate) fn new(modules: Config) -> Self {
        Self { texts: PtxCache::new(Config::default()), modules: ModuleCache::new(modules) }
    }

    pub(crate) fn function(
        &self,
        context: &Context<D>,
        lowering: &Lowering,
    ) -> Result<Function<D>, CudaError> {
        let Lowering { reference, configuration, interface } = lowering;
        let key = KeyBuilder::new(configuration).unwrap().key(&reference.kernel);
        let module = self.modules.get_or_load(context, &context.module_key(&key), || {
            let text = self.texts.get_or_lower(&key, || lower(&reference.kernel, configuration));
            Ptx::of(&text.map_err(|error| CudaError::Source(Arc::new(error.into())))?.value)
        })?;
        module.function(&interface.entry)
    }
}

/// The caches over one store on disk, for texts and for machine code.
pub(crate) fn stack_over<D: Driver>(root: &Path, modules: Config) -> Stack<D> {
    let disk = Arc::new(DiskStore::open(ptx_disk::Config::new(root)).unwrap());
    let tier: Arc<dyn Store<PtxKey>> = Arc::<DiskStore>::clone(&disk);
    Stack {
        texts: PtxCache::with_tiers(Config::default(), vec![tier], WritePolicy::Ignore),
        modules: ModuleCache::new(modules).with_cubins(disk),
    }
}

#[test]
fn every_reference_kernel_is_lowered_and_loaded_once() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let stack = Stack::new(Config::default());
    let lowerings = lowerings(context.device().compute_capability);
    for _ in 0..3 {
        for lowering in &lowerings {
            driver.launch(stack.function(&context, lowering).unwrap().raw());
        }
    }
    assert_eq!(driver.count(Operation::Load), lowerings.len());
    assert_eq!(driver.count(Operation::Function), lowerings.len());
    assert_eq!(stack.texts.snapshot().lowered, lowerings.len() as u64);
    assert_eq!(stack.modules.snapshot().memory.computed, lowerings.len() as u64);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn a_module_that_was_retired_is_loaded_again_from_the_same_text() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let stack = Stack::new(Config::default());
    let lowering = &lowerings(context.device().compute_capability)[0];
    let before = stack.function(&context, lowering).unwrap();
    stack.modules.clear();
    let after = stack.function(&context, lowering).unwrap();
    assert_ne!(before.raw(), after.raw());
    driver.launch(before.raw());
    driver.launch(after.raw());
    assert_eq!(stack.texts.snapshot().lowered, 1);
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn a_lowering_that_fails_says_why() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let stack = Stack::new(Config::default());
    let mut lowering = lowerings(context.device().compute_capability).swap_remove(0);
    lowering.configuration.isa = PtxIsa::new(1, 0);
    let error = stack.function(&context, &lowering).unwrap_err();
    assert!(matches!(error, CudaError::Source(_)), "{error}");
    // Each error of the chain prints its own message only.
    let first: &dyn std::error::Error = &error;
    let mut chain = std::iter::successors(Some(first), |error| error.source());
    assert!(chain.any(|error| error.to_string().contains("1.0")), "{error:?}");
}
