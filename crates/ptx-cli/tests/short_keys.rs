//! The first digits of a key name it, as in git.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::process::{Command, Output};

use ptx_disk::{Config, CubinArtifact, DiskStore, PtxArtifact, Store as _};
use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, KeyTrace,
    Lanes, ModuleKey, PtxIsa, PtxKey,
};

fn ptx(arguments: &[&str], store: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
    command.env_remove("PTX_CACHE").args(arguments).arg("--store").arg(store).output().unwrap()
}

fn shows(digits: &str, store: &Path, payload: &[u8]) {
    let output = ptx(&["show", digits, "--text"], store);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, payload, "{digits}");
}

fn fails(arguments: &[&str], store: &Path, code: i32, words: &[&str]) {
    let output = ptx(arguments, store);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in {said}");
    }
}

/// A key that starts with `first`; the rest is 7s.
fn bytes(first: &[u8]) -> [u8; 32] {
    let mut bytes = [0x77; 32];
    bytes[..first.len()].copy_from_slice(first);
    bytes
}

#[test]
fn four_or_more_digits_that_one_key_has_are_enough() {
    let directory = tempfile::tempdir().unwrap();
    let store = DiskStore::open(Config::new(directory.path())).unwrap();
    for (first, text) in [([0xab, 0xcd, 0x10], "one"), ([0xab, 0xcd, 0x1f], "two")] {
        let _ = store.store(&PtxKey::from_bytes(bytes(&first)), &PtxArtifact::from(text)).unwrap();
    }
    let cubin = ModuleKey::from_bytes(bytes(&[0xab, 0xce]));
    let _ = store.store(&cubin, &CubinArtifact::new(*b"\x7fELF")).unwrap();

    for digits in ["abcd10", "abcd107777", "ABCD10", &bytes_as_text(&[0xab, 0xcd, 0x10])] {
        shows(digits, directory.path(), b"one");
    }
    shows("abcd1f777777", directory.path(), b"two");
    shows("abce", directory.path(), b"\x7fELF");
    // An odd number of digits.
    fails(&["show", "abcd1"], directory.path(), 1, &["several keys"]);
    shows(&bytes_as_text(&[0xab, 0xcd, 0x1f])[..63], directory.path(), b"two");

    for wrong in ["abc", "", "abcg", "abcd ", "äbcd", &"a".repeat(65)] {
        fails(&["show", wrong], directory.path(), 2, &["64 hexadecimal digits"]);
    }
    fails(&["show", "ffff"], directory.path(), 1, &["no entry of ffff"]);
}

fn bytes_as_text(first: &[u8]) -> String {
    PtxKey::from_bytes(bytes(first)).to_string()
}

#[test]
fn an_ambiguous_key_lists_its_candidates() {
    let directory = tempfile::tempdir().unwrap();
    let store = DiskStore::open(Config::new(directory.path())).unwrap();
    for last in 0..25 {
        let key = PtxKey::from_bytes(bytes(&[0xab, 0xcd, last]));
        let _ = store.store(&key, &PtxArtifact::from("text")).unwrap();
    }
    let cubin = ModuleKey::from_bytes(bytes(&[0xab, 0xcd, 3, 1]));
    let _ = store.store(&cubin, &CubinArtifact::new(*b"\x7fELF")).unwrap();
    let first = format!("{} ptx", bytes_as_text(&[0xab, 0xcd, 0]));
    let words = ["abcd is the start of several keys", "give more digits", &first, "and 6 more"];
    fails(&["show", "abcd"], directory.path(), 1, &words);
    let (text, cubin) =
        (format!("{} ptx", bytes_as_text(&[0xab, 0xcd, 3])), format!("{cubin} cubin"));
    fails(&["show", "abcd03"], directory.path(), 1, &[&text, &cubin]);
    fails(&["explain", "abcd", "abcd03"], directory.path(), 1, &["several keys"]);

    // One name for a text and its cubin is not ambiguous: the text is shown, as with all digits.
    let both = bytes(&[0xee, 0xee]);
    let _ = store.store(&PtxKey::from_bytes(both), &PtxArtifact::from("text")).unwrap();
    let cubin = CubinArtifact::new(*b"\x7fELF");
    let _ = store.store(&ModuleKey::from_bytes(both), &cubin).unwrap();
    shows("eeee", directory.path(), b"text");
}

struct Program(u8);

impl Identity for Program {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.record("program", |lanes| lanes.digest(&Digest::of_bytes(&[self.0])));
    }
}

fn trace(program: u8) -> KeyTrace {
    let configuration = Configuration {
        contract: Contract::new("test", 1),
        target: "sm_90".parse().unwrap(),
        isa: PtxIsa::new(8, 0),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::default(),
        toolchain: None,
    };
    KeyBuilder::new(&configuration).unwrap().trace(&Program(program))
}

#[test]
fn explain_takes_the_digits_of_texts_and_never_means_a_cubin() {
    let directory = tempfile::tempdir().unwrap();
    let store = DiskStore::open(Config::new(directory.path())).unwrap();
    let keys = [1, 2].map(|program| {
        let trace = trace(program);
        let key = trace.key();
        let _ = store.store(&key, &PtxArtifact::from("text").with_trace(trace)).unwrap();
        // A cubin whose key differs from the text's in the last digits only.
        let mut near = *key.as_bytes();
        near[31] ^= 1;
        let _ =
            store.store(&ModuleKey::from_bytes(near), &CubinArtifact::new(*b"\x7fELF")).unwrap();
        key.to_string()
    });
    let output = ptx(&["explain", &keys[0][..12], &keys[1][..12]], directory.path());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("program/normalized changed"), "{said}");
    fails(&["show", &keys[0][..12]], directory.path(), 1, &["several keys", "cubin"]);
}
