//! The binary as a person uses it: what it prints, how it exits, what it leaves behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn ptx(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx"))
        .args(arguments)
        .env_remove("PTX_CACHE_DIR")
        .env_remove("PTX_CACHE")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The command fails with `code` and says each of `words` on standard error.
fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let output = ptx(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

const TEXT: &str =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry nothing() { ret; }\n";

#[test]
fn the_demo_lowers_each_program_once_and_serves_it_from_memory_and_disk() {
    let output = ptx(&["demo", "--target", "sm_90"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    let rows: Vec<&str> = said.lines().filter(|line| line.contains("sm_90")).collect();
    assert_eq!(rows.len(), 14, "seven kernels, with few features and many: {said}");
    assert!(rows.iter().all(|row| row.ends_with("computed, memory, disk")), "{said}");
    assert!(said.contains("lowered: 14 in") && said.contains("lowered: 0 in"), "{said}");
}

#[test]
fn the_demo_leaves_nothing_behind_but_a_store_that_was_named() {
    let directory = tempfile::tempdir().unwrap();
    let run = |store: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptx"))
            .args(["demo", "--target", "sm_90"])
            .args(store)
            .env("TMPDIR", directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    run(&[]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let store = directory.path().join("kept");
    run(&["--store", path(&store)]);
    let again = run(&["--store", path(&store)]);
    assert!(again.contains("disk, memory, disk") && !again.contains("computed, memory"), "{again}");
}

#[test]
fn a_corpus_directory_is_served_as_the_reference_kernels_are() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one.ptx"), TEXT).unwrap();
    fs::write(directory.path().join("README.md"), "not PTX").unwrap();
    let output = ptx(&["demo", "--corpus", path(directory.path())]);
    let said = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(said.contains("nothing") && said.contains("computed, memory, disk"), "{said}");
}

#[test]
fn bad_input_is_named_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let binary = directory.path().join("binary.ptx");
    fs::write(&binary, [0xff, 0x00, 0xfe]).unwrap();
    fails(&["demo", "--corpus", path(directory.path())], 1, &["binary.ptx", "take it out"]);
    fs::write(&binary, "no directive in it").unwrap();
    fails(&["demo", "--corpus", path(directory.path())], 1, &["binary.ptx", "take it out"]);
    fs::remove_file(&binary).unwrap();
    fails(&["demo", "--corpus", path(directory.path())], 1, &["no .ptx file", "unpack"]);
    let missing = directory.path().join("missing");
    fails(&["demo", "--corpus", path(&missing)], 1, &["missing"]);

    let file = directory.path().join("file");
    fs::write(&file, "a file").unwrap();
    fails(&["demo", "--store", path(&file)], 1, &["file", "not a directory", "name another path"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "a file");

    fails(&["demo", "--target", "sm_9x"], 2, &["unknown target `sm_9x`", "sm_90a"]);
    fails(&["demo", "--target", "sm_95"], 1, &["sm_95", "sm_90[a]"]);
    fails(&["demo", "--no-such"], 2, &["--no-such"]);
    fails(&["nonsense"], 2, &["nonsense"]);
    fails(&["show", "12"], 2, &["64 hexadecimal digits"]);
}

#[test]
fn a_stored_text_is_shown_and_a_miss_explained() {
    let directory = tempfile::tempdir().unwrap();
    let corpus = directory.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    fs::write(corpus.join("one.ptx"), TEXT).unwrap();
    fs::write(corpus.join("two.ptx"), TEXT.replace("sm_90a", "sm_90")).unwrap();
    let store = directory.path().join("store");
    let run = ptx(&["demo", "--corpus", path(&corpus), "--store", path(&store)]);
    assert!(run.status.success(), "{}", stderr(&run));
    let keys = keys_below(&store);
    let [one, two] = keys.as_slice() else { panic!("two entries, not {keys:?}") };

    let shown = ptx(&["show", one, "--text", "--store", path(&store)]);
    assert!(stdout(&shown).starts_with(".version 8.0\n.target sm_90"), "{}", stderr(&shown));
    let whole = stdout(&ptx(&["show", one, "--store", path(&store)]));
    assert!(whole.contains("lowering") && whole.contains("field") && whole.contains("target"));

    let explained = stdout(&ptx(&["explain", one, two, "--store", path(&store)]));
    assert!(explained.contains("target changed"), "{explained}");
    assert!(explained.contains("program/normalized changed"), "{explained}");
    assert!(!explained.contains("contract"), "{explained}");
    let other = "00".repeat(32);
    fails(&["show", &other, "--store", path(&store)], 1, &["no entry", &other]);
    fails(&["explain", one, &other, "--store", path(&store)], 1, &["no entry", &other]);
}

/// The keys that file names and their directories spell.
fn keys_below(directory: &Path) -> Vec<String> {
    let mut keys = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            keys.extend(keys_below(&path));
        } else {
            let parent = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
            let stem = name.split('.').next().unwrap().to_owned();
            let candidates = [stem.clone(), format!("{parent}{stem}")];
            keys.extend(candidates.into_iter().filter(|it| it.len() == 64 && digits(it)));
        }
    }
    keys.sort();
    keys.dedup();
    keys
}
