//! How do all tests run, with the tools that they need?

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::tools;
use crate::workspace::{directory, members, root, shell};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--").collect();
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    run_requiring(if ci { "corpus,ptxas,python,examples" } else { "" }, &arguments)
}

/// Runs all tests. A test that lacks one of `required`, names separated by commas, fails. A test
/// that lacks another requirement is skipped.
pub(crate) fn run_requiring(required: &str, arguments: &[&str]) -> Result<()> {
    let shell = shell()?;
    for (variable, tool) in tools::provide(&shell) {
        shell.set_var(variable, tool);
    }
    if !required.is_empty() {
        shell.set_var("PTX_REQUIRE", required);
    }
    warn_of_skipped_tests(&shell);
    let features = testable_features()?.join(",");
    // Benches have no tests, and their peers take long to build.
    let all = ["--workspace", "--exclude", "ptx-bench", "--features", &features];
    let tests = if succeeds(&shell, "cargo nextest --version") {
        cmd!(shell, "cargo nextest run {all...} {arguments...}").run()
    } else {
        let kinds = ["--lib", "--bins", "--tests", "--examples", "--no-fail-fast"];
        cmd!(shell, "cargo test {all...} {kinds...} {arguments...}").run()
    };
    // They run even if a test failed: one run shows everything that is wrong.
    let doctests = cmd!(shell, "cargo test {all...} --doc").run();
    Ok(tests.and(doctests)?)
}

/// A runner prints nothing of a test that passes, so it does not show which tests were skipped.
fn warn_of_skipped_tests(shell: &Shell) {
    let corpus = std::env::var_os("PTX_CORPUS");
    let corpus = corpus.map_or_else(|| root().join("../shared/corpus"), Into::into);
    if !corpus.join("manifest.json").is_file() {
        eprintln!("no corpus in `{}`: tests that need it are skipped", corpus.display());
    }
    if !succeeds(shell, "python3 --version") {
        eprintln!("no python3: tests that need it are skipped");
    }
}

/// Every feature of every crate, except `cuda`, which links the driver.
fn testable_features() -> Result<Vec<String>> {
    let mut testable = Vec::new();
    for member in members()?.iter().filter(|member| directory(member).starts_with("crates/")) {
        let features = member.features.keys().filter(|feature| *feature != "cuda");
        testable.extend(features.map(|feature| format!("{}/{feature}", member.name)));
    }
    Ok(testable)
}

fn succeeds(shell: &Shell, command: &str) -> bool {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    shell.cmd(program).args(words).quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

#[cfg(test)]
mod tests {
    use super::testable_features;

    #[test]
    fn every_feature_but_the_drivers_is_tested() {
        let testable = testable_features().unwrap();
        assert!(testable.contains(&"ptx-cache/async".to_owned()), "{testable:?}");
        assert!(!testable.iter().any(|feature| feature.ends_with("/cuda")), "{testable:?}");
    }
}
