//! All tests, with the tools that they need.

use crate::run::{Outcome, cargo, output, run as execute};
use crate::tools;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--").collect();
    let required =
        if std::env::var("CI").is_ok_and(|ci| ci == "true") { "corpus,ptxas,python" } else { "" };
    run_requiring(required, &arguments)
}

/// Runs all tests; a test that needs one of `required` (names parted by commas) and lacks it
/// fails instead of being skipped.
pub(crate) fn run_requiring(required: &str, arguments: &[&str]) -> Outcome {
    let tools = tools::provide();
    let with_tools = |command: &mut std::process::Command| {
        command.envs(tools.iter().map(|(name, path)| (*name, path)));
        if !required.is_empty() {
            command.env("PTX_REQUIRE", required);
        }
    };
    let nextest = output(&mut cargo(&["nextest", "--version"])).is_ok_and(|it| it.status.success());
    let runner: &[&str] = if nextest {
        &["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]
    };
    let mut command = cargo(runner);
    command.args(arguments);
    with_tools(&mut command);
    execute(&mut command)?;
    let mut doctests = cargo(&["test", "--workspace", "--doc"]);
    with_tools(&mut doctests);
    execute(&mut doctests)
}
