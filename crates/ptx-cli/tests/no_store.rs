//! A path without a store: commands that do not fill one say so and create nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn ptx(arguments: &[&str], store: &Path, variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
    command.env_remove("PTX_CACHE_DIR").env_remove("PTX_CACHE").envs(variables.iter().copied());
    command.args(arguments).arg("--store").arg(store).output().unwrap()
}

/// Every command that does not fill a store. `to` is what the exports name.
fn commands(to: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["show", KEY],
        vec!["show", KEY, "--text"],
        vec!["explain", KEY, KEY],
        vec!["verify"],
        vec!["trim"],
        vec!["export", to],
        vec!["export", "--text", to],
    ]
}

/// Each command fails with 3 and says each of `words`. The exports write nothing.
fn all_refuse(store: &Path, variables: &[(&str, &Path)], words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("to");
    for arguments in commands(to.to_str().unwrap()) {
        let output = ptx(&arguments, store, variables);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in {said}");
        }
    }
    assert!(!to.exists());
}

#[test]
fn a_mistyped_path_is_named_with_the_cure_and_stays_absent() {
    let directory = tempfile::tempdir().unwrap();
    for path in ["mistyped", "two/levels", "mistyped/"] {
        let store = directory.path().join(path);
        all_refuse(&store, &[], &["there is no store at", path, "--store", "ptx import"]);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_is_there_and_is_no_store_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), "mine").unwrap();
    all_refuse(&at("file"), &[], &["file` is not a store", "not a directory"]);
    all_refuse(&at("file/below"), &[], &["there is no store at", "below"]);
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "mine");

    fs::create_dir(at("empty")).unwrap();
    all_refuse(&at("empty"), &[], &["the directory", "empty` is not a store"]);
    assert_eq!(fs::read_dir(at("empty")).unwrap().count(), 0);

    // The cache of another program.
    fs::create_dir(at("other")).unwrap();
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# This is cargo's.\n";
    fs::write(at("other/CACHEDIR.TAG"), tag).unwrap();
    fs::write(at("other/entries-1"), "a file").unwrap();
    all_refuse(&at("other"), &[], &["other` is not a store"]);
    assert_eq!(fs::read_dir(at("other")).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_or_to_a_fifo_is_no_store_and_a_link_to_a_store_is_one() {
    use std::os::unix::fs::symlink;

    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    symlink(at("nowhere"), at("dangling")).unwrap();
    all_refuse(&at("dangling"), &[], &["dangling`, which is a link to nothing"]);
    assert!(!at("nowhere").exists());

    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    symlink(at("fifo"), at("link")).unwrap();
    all_refuse(&at("link"), &[], &["link` is not a store"]);

    assert!(ptx(&["demo", "--target", "sm_90"], &at("store"), &[]).status.success());
    symlink(at("store"), at("linked")).unwrap();
    assert!(ptx(&["verify"], &at("linked"), &[]).status.success());
}

#[test]
fn help_lists_the_exit_codes() {
    let help = Command::new(env!("CARGO_BIN_EXE_ptx")).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let (_, codes) = help.split_once("Exit codes:").unwrap();
    let listed: Vec<&str> =
        codes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, ["0", "1", "2", "3", "141"]);
}

#[test]
fn a_store_that_is_off_is_said_to_be_off() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    assert!(ptx(&["demo", "--target", "sm_90"], &store, &[]).status.success());
    for arguments in commands("to").into_iter().filter(|arguments| arguments != &["trim"]) {
        let output = ptx(&arguments, &store, &[("PTX_CACHE", Path::new("off"))]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(said.contains("PTX_CACHE"), "{said}");
    }
    let output = ptx(&["verify"], &store, &[("PTX_CACHE", Path::new("ro"))]);
    assert!(output.status.success());
}

#[test]
fn a_store_without_entries_is_one_and_only_commands_that_fill_create_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let succeeds = |arguments: &[&str], store: &Path| {
        let output = ptx(arguments, store, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    succeeds(&["demo", "--target", "sm_90"], &at("one"));
    let bundle = at("bundle");
    succeeds(&["export", bundle.to_str().unwrap()], &at("one"));
    succeeds(&["import", bundle.to_str().unwrap()], &at("imported"));
    succeeds(&["verify"], &at("imported"));

    fs::remove_dir_all(at("imported/entries-1")).unwrap();
    succeeds(&["verify"], &at("imported"));

    let output = ptx(&["import", "/no/such/bundle"], &at("not-created"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!at("not-created").exists());
}
