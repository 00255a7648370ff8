//! All tests, with the tools that they need.

use std::process::Command;

use crate::run::{Outcome, cargo, command, manifests, output, root, run as execute};
use crate::tools;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--").collect();
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    run_requiring(if ci { "corpus,ptxas,python" } else { "" }, &arguments)
}

/// Runs all tests; a test that needs one of `required` (names parted by commas) and lacks it
/// fails instead of being skipped.
pub(crate) fn run_requiring(required: &str, arguments: &[&str]) -> Outcome {
    let tools = tools::provide();
    say_what_is_missing();
    let features = testable_features()?.join(",");
    let run = |subcommand: &[&str], arguments: &[&str]| {
        let mut command = cargo(subcommand);
        // Benches have no tests, and their peers take long to build.
        command.args(["--workspace", "--exclude", "ptx-bench", "--features", &features]);
        command.args(arguments);
        command.envs(tools.iter().map(|(name, path)| (*name, path)));
        if !required.is_empty() {
            command.env("PTX_REQUIRE", required);
        }
        execute(&mut command)
    };
    let tests = if succeeds(&mut cargo(&["nextest", "--version"])) {
        run(&["nextest", "run"], arguments)
    } else {
        run(&["test", "--lib", "--bins", "--tests", "--no-fail-fast"], arguments)
    };
    // Whatever the tests said: one run says all that is wrong.
    let doctests = run(&["test", "--doc"], &[]);
    tests.and(doctests)
}

/// A test runner shows nothing of a test that passes, so a person would not learn from it what was
/// skipped.
fn say_what_is_missing() {
    let beside = root().join("../shared/corpus");
    let corpus = std::env::var_os("PTX_CORPUS").map_or(beside, Into::into);
    if !corpus.join("manifest.json").is_file() {
        eprintln!("no corpus in `{}`, so tests that need it are skipped", corpus.display());
    }
    if !succeeds(&mut command("python3", &["--version"])) {
        eprintln!("no python3, so tests that need it are skipped");
    }
}

/// Every feature of every crate, but `cuda`, which links the driver.
fn testable_features() -> Outcome<Vec<String>> {
    let mut testable = Vec::new();
    for (folder, manifest) in manifests()? {
        let package = folder.trim_start_matches("crates/");
        let names = features(&manifest).into_iter().filter(|name| *name != "cuda");
        if folder.starts_with("crates/") {
            testable.extend(names.map(|name| format!("{package}/{name}")));
        }
    }
    Ok(testable)
}

/// The names in a manifest's table of features.
fn features(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[features]").skip(1);
    let table = lines.take_while(|line| !line.starts_with('['));
    table.filter_map(|line| Some(line.split_once(" = [")?.0.trim())).collect()
}

fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_from_their_table_alone() {
        let manifest = "[package]\nkeywords = [\"a\"]\n[features]\n# why\ndefault = []\n\
                        cache = [\"dep:b\"]\n\n[dependencies]\nb = [1]\n";
        assert_eq!(features(manifest), ["default", "cache"]);
        assert_eq!(features("[package]\n"), [""; 0]);
    }

    #[test]
    fn the_driver_is_never_among_the_tested_features() {
        let testable = testable_features().unwrap();
        assert!(testable.contains(&"ptx-disk/cache".to_owned()), "{testable:?}");
        assert!(!testable.iter().any(|feature| feature.ends_with("/cuda")), "{testable:?}");
    }
}
