//! Closed pipes, full devices, and what is no regular file: no command panics, and none waits for
//! a writer that never comes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TEXT: &str =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry nothing() { ret; }\n";
const CLOSED: Option<i32> = Some(141);

fn ptx() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
    command.env_remove("PTX_CACHE_DIR").env_remove("PTX_CACHE").stdin(Stdio::null());
    command
}

/// The writing end of a pipe whose reading end is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// The output of a command that ends within a minute.
fn ends(mut child: Child) -> Output {
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it waits for what never comes");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A store with one text, and the text's key.
fn filled(directory: &Path) -> (String, String) {
    let corpus = directory.join("corpus");
    fs::create_dir(&corpus).unwrap();
    fs::write(corpus.join("one.ptx"), TEXT).unwrap();
    let store = directory.join("store");
    let output =
        ptx().args(["demo", "--corpus"]).arg(&corpus).arg("--store").arg(&store).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = directory.join("text");
    let output =
        ptx().args(["export", "--text"]).arg(&text).arg("--store").arg(&store).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = fs::read_dir(&text).unwrap().next().unwrap().unwrap().path();
    let key = file.file_stem().unwrap().to_str().unwrap().to_owned();
    (store.to_str().unwrap().to_owned(), key)
}

/// Every command that prints, on a store.
fn commands<'a>(store: &'a str, key: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["demo", "--target", "sm_90"],
        vec!["show", key, "--store", store],
        vec!["show", key, "--text", "--store", store],
        vec!["explain", key, key, "--store", store],
        vec!["verify", "--store", store],
        vec!["trim", "--store", store],
    ]
}

#[test]
fn a_reader_that_leaves_ends_every_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let (store, key) = filled(directory.path());
    for arguments in commands(&store, &key) {
        let child = ptx().args(&arguments).stdout(closed_pipe()).stderr(Stdio::piped()).spawn();
        let output = ends(child.unwrap());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (CLOSED, ""), "{arguments:?}");
    }
}

#[test]
fn nobody_reads_either_stream_or_only_errors() {
    let directory = tempfile::tempdir().unwrap();
    let (store, key) = filled(directory.path());
    for arguments in commands(&store, &key) {
        let child = ptx().args(&arguments).stdout(closed_pipe()).stderr(closed_pipe()).spawn();
        assert_eq!(ends(child.unwrap()).status.code(), CLOSED, "{arguments:?}");
    }
    let missing = "00".repeat(32);
    for arguments in [vec!["show", &missing, "--store", &store], vec!["demo", "--corpus", "/none"]]
    {
        let child = ptx().args(&arguments).stdout(Stdio::null()).stderr(closed_pipe()).spawn();
        assert_eq!(ends(child.unwrap()).status.code(), Some(1), "{arguments:?}");
    }
    for arguments in ["--help", "--version", "--nonsense"] {
        let child = ptx().arg(arguments).stdout(closed_pipe()).stderr(closed_pipe()).spawn();
        let code = ends(child.unwrap()).status.code();
        assert!(matches!(code, Some(0 | 2)), "{arguments}: {code:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let (store, key) = filled(directory.path());
    for arguments in commands(&store, &key) {
        let child = ptx().args(&arguments).stdout(full()).stderr(Stdio::piped()).spawn();
        let output = ends(child.unwrap());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output: No space"), "{said}");
    }
}

#[test]
fn a_corpus_is_its_regular_files_and_links_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let demo = || {
        let mut command = ptx();
        command.args(["demo", "--corpus"]).arg(directory.path());
        ends(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    fifo(&at("fifo.ptx"));
    let alone = demo();
    let said = String::from_utf8_lossy(&alone.stderr);
    assert_eq!(alone.status.code(), Some(1));
    assert!(said.contains("fifo.ptx") && said.contains("has no .ptx file"), "{said}");

    let _socket = UnixListener::bind(at("socket.ptx")).unwrap();
    symlink("/dev/zero", at("device.ptx")).unwrap();
    symlink(at("fifo.ptx"), at("link-to-fifo.ptx")).unwrap();
    symlink(at("nowhere"), at("dangling.ptx")).unwrap();
    fs::create_dir(at("directory.ptx")).unwrap();
    fs::write(at("text"), TEXT).unwrap();
    symlink(at("text"), at("link.ptx")).unwrap();
    let output = demo();
    let (out, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(out.contains("nothing") && out.contains("lowered: 1 in"), "{out}");
    for skipped in ["fifo", "socket", "device", "link-to-fifo", "dangling", "directory"] {
        assert!(said.contains(&format!("/{skipped}.ptx`: ")), "no {skipped} in {said}");
    }
    assert!(!said.contains("/link.ptx"), "{said}");
}
