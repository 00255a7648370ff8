//! The real binary on real stores.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ptx_disk::format::Header;
use ptx_disk::{
    Attributes, Bundle, Config, CubinArtifact, DiskStore, EntryKey, PtxArtifact, Store as _,
};
use ptx_key::{ComputeCapability, Digest, JitOptions, ModuleKey, PtxKey};
use ptx_tests::{Corpus, Ptxas};

/// What a run said, and whether it ended well.
struct Run {
    success: bool,
    out: Vec<u8>,
    err: String,
}

impl Run {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

fn ptx(arguments: &[&dyn AsRef<OsStr>], variables: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
    for name in ["PTX_CACHE", "PTX_CACHE_DIR", "PTX_CACHE_ENTRIES", "PTX_CACHE_BYTES", "PTXAS"] {
        command.env_remove(name);
    }
    let arguments = arguments.iter().map(AsRef::<OsStr>::as_ref);
    let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Run { success: output.status.success(), out: output.stdout, err }
}

const CUBIN: &[u8] = b"\x7fELF\x02\x01 and what follows\x00\xff";

fn key(number: u32) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn module() -> ModuleKey {
    ModuleKey::from_bytes([9; 32])
}

fn text(number: u32) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k{number}() {{ ret; }}\n"
    )
}

fn open(root: &Path) -> DiskStore {
    DiskStore::open(Config::new(root)).unwrap()
}

/// Ten texts and a cubin.
fn filled(root: &Path) -> DiskStore {
    let store = open(root);
    for number in 0..10 {
        let cost = Duration::from_secs(u64::from(number) + 1);
        store.store(&key(number), &PtxArtifact::from(text(number)).with_cost(cost)).unwrap();
    }
    let cubin = CubinArtifact::new(CUBIN).with_cost(Duration::from_secs(1));
    store.store(&module(), &cubin).unwrap();
    store
}

fn entry_path(root: &Path, key: &PtxKey) -> PathBuf {
    root.join(format!("entries-1/{key:.2}/{key}.ptx-entry"))
}

#[test]
fn show_gives_the_payload_alone_or_with_what_is_known_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let _ = filled(directory.path());
    let digits = key(3).to_string();
    let alone = ptx(&[&"show", &digits, &"--text", &"--store", &directory.path()], &[]);
    assert!(alone.success && alone.out == text(3).as_bytes(), "{}", alone.err);
    let with_more = ptx(&[&"show", &digits, &"--store", &directory.path()], &[]).text();
    assert!(with_more.contains(&digits) && with_more.ends_with(&text(3)), "{with_more}");
    let module = module().to_string();
    let cubin = ptx(&[&"show", &module, &"--text", &"--store", &directory.path()], &[]);
    assert_eq!(cubin.out, CUBIN);
    let known = ptx(&[&"show", &module, &"--store", &directory.path()], &[]).text();
    assert!(known.contains("cubin") && !known.contains("ELF"), "{known}");
    let missing = key(77).to_string();
    let run = ptx(&[&"show", &missing, &"--store", &directory.path()], &[]);
    assert!(!run.success && run.err.contains("no entry"), "{}", run.err);
}

#[test]
fn names_from_elsewhere_do_not_reach_the_terminal_as_commands() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = open(&at("one"));
    let mut artifact = PtxArtifact::from(text(1));
    artifact.attributes.set(Attributes::PRODUCER, "clears \u{1b}[2J");
    store.store(&key(1), &artifact).unwrap();
    let digits = key(1).to_string();
    let shown = ptx(&[&"show", &digits, &"--store", &at("one")], &[]).text();
    assert!(shown.contains("clears") && !shown.contains('\u{1b}'), "{shown:?}");
    let _ = store.export(&at("bundle"), "clears \u{1b}[2J", |_| true).unwrap();
    let imported = ptx(&[&"import", &at("bundle"), &"--store", &at("two")], &[]).text();
    assert!(imported.contains("1 entries added") && !imported.contains('\u{1b}'), "{imported:?}");
}

#[test]
fn exported_texts_are_plain_files_that_ptxas_takes() {
    let directory = tempfile::tempdir().unwrap();
    let (root, to) = (directory.path().join("store"), directory.path().join("out"));
    let _ = filled(&root);
    let run = ptx(&[&"export", &"--text", &to, &"--store", &root], &[]);
    assert!(run.success && run.text().starts_with("11 files"), "{}{}", run.text(), run.err);
    for number in 0..10 {
        let file = fs::read_to_string(to.join(format!("{}.ptx", key(number)))).unwrap();
        assert_eq!(file, text(number));
    }
    assert_eq!(fs::read(to.join(format!("{}.cubin", module()))).unwrap(), CUBIN);
    let Some(ptxas) = Ptxas::find() else { return };
    let path = to.join(format!("{}.ptx", key(0)));
    let assembled = Command::new(ptxas.path())
        .arg("-arch=sm_80")
        .arg(&path)
        .arg("-o")
        .arg(to.join("k.cubin"))
        .status()
        .unwrap();
    assert!(assembled.success());
}

#[test]
fn a_bundle_goes_out_and_comes_in_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let _ = filled(&at("one"));
    let export = |to: &str| {
        let run = ptx(&[&"export", &at(to), &"--name", &"app 1.2", &"--store", &at("one")], &[]);
        assert!(run.success && run.text().starts_with("11 entries"), "{}{}", run.text(), run.err);
        fs::read(at(to)).unwrap()
    };
    assert_eq!(export("a"), export("b"), "reproducible byte for byte");
    let import = || ptx(&[&"import", &at("a"), &"--store", &at("two")], &[]);
    let run = import();
    assert!(run.success && run.text().contains("`app 1.2`: 11 entries added"), "{}", run.text());
    assert!(import().text().contains("0 entries added\n11 were there already"));
    let found = open(&at("two")).load(&key(3)).unwrap().unwrap();
    assert_eq!(*found.payload, *text(3));
    assert_eq!(found.attributes.text(Attributes::ORIGIN), Some("app 1.2"));
    let verify = || ptx(&[&"verify", &"--bundle", &at("a")], &[]);
    assert!(verify().success && verify().text().starts_with("11 entries are whole"));
    let mut bytes = fs::read(at("a")).unwrap();
    bytes[300] ^= 1;
    fs::write(at("a"), bytes).unwrap();
    assert!(!verify().success && verify().err.contains("1 entries are damaged"));
    fs::write(at("a"), "no bundle").unwrap();
    let run = import();
    assert!(!run.success && run.err.contains("is not a bundle"), "{}", run.err);
}

#[test]
fn verify_says_what_is_damaged_by_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let _ = filled(directory.path());
    let verify = || ptx(&[&"verify", &"--store", &directory.path()], &[]);
    let run = verify();
    assert!(run.success && run.text().starts_with("11 entries are whole"), "{}", run.text());
    let path = entry_path(directory.path(), &key(3));
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let run = verify();
    assert!(!run.success && run.err.contains("1 entries are damaged"), "{}", run.err);
    assert!(!path.exists(), "it is set aside");
    assert!(verify().success);
}

#[test]
fn trim_keeps_to_the_bounds_that_the_environment_names() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let trim =
        |bound| ptx(&[&"trim", &"--store", &directory.path()], &[("PTX_CACHE_ENTRIES", bound)]);
    let run = trim("4");
    assert!(run.success && run.text().contains("7 entries of"), "{}{}", run.text(), run.err);
    assert_eq!(store.keys().unwrap().len(), 4);
    assert!(store.load(&key(9)).unwrap().is_some(), "the dearest stays");
    let run = trim("4k");
    assert!(!run.success && run.err.contains("PTX_CACHE_ENTRIES=`4k`"), "{}", run.err);
    for mode in ["off", "ro"] {
        let run = ptx(&[&"trim", &"--store", &directory.path()], &[("PTX_CACHE", mode)]);
        assert!(!run.success && run.err.contains("PTX_CACHE=rw"), "{}", run.err);
    }
}

/// Of the names in order, the dictionary was trained on those at even positions.
#[test]
fn trimming_brings_files_that_the_dictionary_never_saw_to_a_fourteenth() {
    let Some(corpus) = Corpus::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let files = corpus.ptx_files().unwrap();
    let held_out: Vec<_> = files.iter().skip(1).step_by(2).collect();
    for file in &held_out {
        let key = PtxKey::from_bytes(*Digest::of_bytes(file.text.as_bytes()).as_bytes());
        let artifact = PtxArtifact::from(Arc::clone(&file.text));
        store.store(&key, &artifact.with_cost(Duration::from_secs(1))).unwrap();
    }
    let stored_bytes = || -> u64 {
        let stored = |key: &EntryKey| {
            let EntryKey::Ptx(key) = key else { panic!("a cubin") };
            let bytes = fs::read(entry_path(directory.path(), key)).unwrap();
            Header::read(&bytes).unwrap().0.stored_bytes
        };
        store.keys().unwrap().iter().map(stored).sum()
    };
    let text_bytes: u64 = held_out.iter().map(|file| file.text.len() as u64).sum();
    let before = stored_bytes();
    let run = ptx(&[&"trim", &"--store", &directory.path()], &[]);
    assert!(run.success, "{}", run.err);
    let after = stored_bytes();
    println!("{text_bytes} bytes of text, {before} as published, {after} trimmed");
    assert!(before * 11 < text_bytes && after * 14 < text_bytes, "{text_bytes} {before} {after}");
    for file in held_out {
        let key = PtxKey::from_bytes(*Digest::of_bytes(file.text.as_bytes()).as_bytes());
        let found = store.load(&key).unwrap().unwrap();
        assert!(found.payload == file.text);
    }
}

#[test]
fn warm_assembles_each_text_once_for_each_architecture_and_export_chooses_among_them() {
    let Some(ptxas) = Ptxas::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (root, bundle) = (directory.path().join("store"), directory.path().join("bundle"));
    let store = filled(&root);
    let warm = |architectures: &str| {
        let tool = ptxas.path();
        ptx(&[&"warm", &"--for", &architectures, &"--ptxas", &tool, &"--store", &root], &[])
    };
    let run = warm("sm_80,sm_90");
    assert!(run.success, "{}{}", run.text(), run.err);
    for line in ["sm_80: 10 assembled, 0 there", "sm_90: 10 assembled, 0 there"] {
        assert!(run.text().contains(line), "{}", run.text());
    }
    assert!(warm("sm_90").text().contains("sm_90: 0 assembled, 10 there already"));
    assert!(warm("sm_75").text().contains("sm_75: 0 assembled, 0 there already, 0 failed, 10 for"));

    let assembler = ptx_cuda::Ptxas::new(ptxas.path()).unwrap();
    let cubin = |minor| {
        let device = ComputeCapability { major: 8, minor };
        assembler.jit(device, JitOptions::default()).key_of_lowering(&key(3))
    };
    let entry = store.load(&cubin(0)).unwrap().unwrap();
    assert!(entry.payload.starts_with(b"\x7fELF") && entry.cost > Duration::ZERO);

    // Ten texts with what is for one of the two; the cubin that is none is for neither.
    let run = ptx(&[&"export", &bundle, &"--for", &"sm_80", &"--store", &root], &[]);
    assert!(run.success && run.text().starts_with("20 entries"), "{}{}", run.text(), run.err);
    let bundle = Bundle::open(&bundle).unwrap();
    assert!(bundle.load(&cubin(0)).unwrap().is_some());
    assert!(bundle.load(&key(3)).unwrap().is_some());
}

#[test]
fn warm_says_which_texts_have_no_cubin_and_goes_on() {
    let Some(ptxas) = Ptxas::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let broken = PtxArtifact::from(text(77).replace("ret;", "rot;"));
    store.store(&key(77), &broken).unwrap();
    let arguments: [&dyn AsRef<OsStr>; 5] =
        [&"warm", &"--for", &"sm_80", &"--store", &directory.path()];
    let run = ptx(&arguments, &[("PTXAS", ptxas.path().to_str().unwrap())]);
    assert!(!run.success && run.text().contains("10 assembled"), "{}{}", run.text(), run.err);
    assert!(run.err.contains("line 4") && run.err.contains("1 texts have no cubin"), "{}", run.err);
}

#[test]
fn warm_without_a_place_for_files_does_not_blame_the_assembler() {
    let Some(ptxas) = Ptxas::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let _ = filled(directory.path());
    let (tool, nowhere) = (ptxas.path(), directory.path().join("nowhere"));
    let warm: [&dyn AsRef<OsStr>; 7] =
        [&"warm", &"--for", &"sm_80", &"--ptxas", &tool, &"--store", &directory.path()];
    let run = ptx(&warm, &[("TMPDIR", nowhere.to_str().unwrap())]);
    assert!(
        !run.success && run.err.contains("nowhere") && run.err.contains("TMPDIR"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("name a ptxas"), "{}", run.err);
}

#[test]
fn an_empty_ptxas_in_the_environment_names_none() {
    let directory = tempfile::tempdir().unwrap();
    let _ = filled(directory.path());
    let warm: [&dyn AsRef<OsStr>; 5] = [&"warm", &"--for", &"sm_80", &"--store", &directory.path()];
    let run = ptx(&warm, &[("PTXAS", ""), ("PATH", "")]);
    assert!(!run.success && run.err.contains("no ptxas on the PATH"), "{}", run.err);
}

#[test]
fn warm_without_an_architecture_or_an_assembler_says_what_to_name() {
    let directory = tempfile::tempdir().unwrap();
    let _ = filled(directory.path());
    if cfg!(not(feature = "cuda")) {
        let run = ptx(&[&"warm", &"--store", &directory.path()], &[]);
        assert!(!run.success && run.err.contains("--for sm_90"), "{}", run.err);
    }
    let warm: [&dyn AsRef<OsStr>; 5] = [&"warm", &"--for", &"sm_80", &"--store", &directory.path()];
    let run = ptx(&warm, &[("PTXAS", "no/such/ptxas")]);
    assert!(!run.success && run.err.contains("no/such/ptxas"), "{}", run.err);
    assert_eq!(run.err.matches("No such file").count(), 1, "{}", run.err);
}
