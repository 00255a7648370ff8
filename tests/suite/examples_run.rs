//! Every example of README runs, and prints what it is there to show.

use std::path::PathBuf;
use std::process::Command;

use ptx_tests::Requirement;

/// What an example prints. Cargo builds the examples with the tests, beside them.
fn output(example: &str) -> Option<String> {
    let deps = std::env::current_exe().unwrap();
    let target: PathBuf = deps.ancestors().nth(2).unwrap().join("examples").join(example);
    if !target.is_file() {
        return Requirement::Examples.skip("the examples are not built: test the whole package");
    }
    let output = Command::new(target).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn cache_and_disk() {
    let Some(printed) = output("cache_and_disk") else { return };
    let expected =
        ["first request: from computed", "second request: from memory", "next process: from disk"];
    for (line, expected) in printed.lines().zip(expected) {
        assert_eq!(line, format!("{expected}, 1024 bytes of shared memory"));
    }
    assert_eq!(printed.lines().count(), 3);
}

#[test]
fn tasks_and_threads() {
    let Some(printed) = output("async") else { return };
    assert_eq!(printed, "1 lowering for 9 requests; the last came from memory\n");
}

#[test]
fn shared_store() {
    let Some(printed) = output("shared_store") else { return };
    let mut lines: Vec<&str> =
        printed.lines().filter_map(|line| line.split("from ").nth(1)).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["computed", "disk"]);
}
