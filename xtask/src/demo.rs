//! The main job.

use crate::run::{Outcome, cargo, run as execute};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut command = cargo(&["run", "--release", "--package", "ptx-cli", "--", "demo"]);
    execute(command.args(arguments))
}
