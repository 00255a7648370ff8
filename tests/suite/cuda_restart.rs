//! What one process lowered and assembled, the next finds on disk.

use std::path::Path;

use ptx_cache::Config;
use ptx_cuda::{Context, Driver, Function, RecordingDriver};
use ptx_key::{ComputeCapability, JitOptions};
use ptx_tests::Role;

use crate::cuda_stack::{Lowering, lowerings, stack_over};

/// How the machine code is made: the driver's way, or otherwise.
const WAYS: [(&str, Option<u8>); 2] = [("as the driver does", None), ("not optimized", Some(0))];

/// A process: every kernel, from its key to a launch. Says what had to be done.
pub(crate) fn live<D: Driver>(
    context: &Context<D>,
    argument: &str,
    launch: impl Fn(&Function<D>, &Lowering),
) {
    let (way, root) = argument.split_once('@').unwrap();
    let (_, optimization_level) = WAYS.into_iter().find(|(name, _)| *name == way).unwrap();
    let options = JitOptions { optimization_level, ..JitOptions::default() };
    let context = context.with_options(options);
    let stack = stack_over(Path::new(root), Config::default());
    for lowering in lowerings(context.device().compute_capability) {
        launch(&stack.function(&context, &lowering).unwrap(), &lowering);
    }
    stack.modules.flush();
    let (texts, cubins) = (stack.texts.snapshot(), stack.modules.snapshot().cubins);
    println!(
        "in this life: {} lowered, {} assembled, {} cubins loaded",
        texts.lowered, cubins.assembled, cubins.hits
    );
}

/// Has the role played by one process after the other over one store.
pub(crate) fn check_lives(role: &Role, device: ComputeCapability) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let all = lowerings(device).len();
    for (way, lowered, assembled, loaded) in [
        (0, all, all, 0),
        (0, 0, 0, all),
        // The texts of the first life serve.
        (1, 0, all, 0),
        (1, 0, 0, all),
        (0, 0, 0, all),
    ] {
        let argument = format!("{}@{}", WAYS[way].0, root.display());
        let life = role.command(&argument).unwrap().output().unwrap();
        let (said, complaint) =
            (String::from_utf8_lossy(&life.stdout), String::from_utf8_lossy(&life.stderr));
        assert!(life.status.success(), "{said}{complaint}");
        let expected = format!(
            "in this life: {lowered} lowered, {assembled} assembled, {loaded} cubins loaded"
        );
        println!("{}: {expected}", WAYS[way].0);
        assert!(said.contains(&expected), "{expected}: {said}");
    }
}

const LIFE: Role = Role::new("cuda_restart::a_life");

#[test]
fn a_life() {
    let Some(argument) = LIFE.argument() else { return };
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    live(&context, &argument, |function, _| driver.launch(function.raw()));
    assert_eq!(driver.violations(), [""; 0]);
}

#[test]
fn nothing_is_made_twice() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    check_lives(&LIFE, context.device().compute_capability);
}
