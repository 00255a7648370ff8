//! The corpus is what its manifest says, and the cache serves it unchanged.

use ptx_cache::{Config, PtxCache, Source};
use ptx_key::{Digest, PtxKey};
use ptx_tests::{Corpus, Ptxas, Role};

#[test]
fn every_file_has_the_digest_of_the_manifest() {
    let Some(corpus) = Corpus::find() else { return };
    let files = corpus.ptx_files().unwrap();
    assert_eq!(files.len(), 967);
    for file in files {
        assert_eq!(Digest::of_bytes(file.text.as_bytes()).to_string(), file.sha256);
    }
}

#[test]
fn every_launch_can_be_read() {
    let Some(corpus) = Corpus::find() else { return };
    let launches = corpus.launches().unwrap();
    assert_eq!(launches.len(), 6_719);
    let names: std::collections::BTreeSet<_> =
        launches.iter().map(|launch| launch.kernel.as_str()).collect();
    assert_eq!(names.len(), 657);
}

#[test]
fn the_cache_serves_every_file_unchanged_and_lowers_each_once() {
    let Some(corpus) = Corpus::find() else { return };
    let files = corpus.ptx_files().unwrap();
    let cache = PtxCache::new(Config::default());
    let key = |text: &str| PtxKey::from_bytes(*Digest::of_bytes(text.as_bytes()).as_bytes());
    for expected in [Source::Lowered, Source::Memory] {
        for file in &files {
            let lower = || Ok::<_, std::fmt::Error>(file.text.clone());
            let served = cache.serve(&key(&file.text), lower).unwrap();
            assert_eq!((&served.text, &served.source), (&file.text, &expected));
        }
    }
    let resident = cache.snapshot().memory.resident;
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    assert_eq!((resident.entries, resident.bytes), (967, bytes as u64));
}

#[test]
fn ptxas_assembles_a_corpus_file_and_refuses_half_of_it() {
    let (Some(corpus), Some(ptxas)) = (Corpus::find(), Ptxas::find()) else { return };
    let files = corpus.ptx_files().unwrap();
    let smallest = files.iter().min_by_key(|file| file.text.len()).unwrap();
    let cubin = ptxas.assemble(&smallest.text, "sm_90a").unwrap();
    assert_eq!(cubin.get(..4), Some(b"\x7fELF".as_slice()));
    let half = smallest.text.get(..smallest.text.len() / 2).unwrap();
    assert!(ptxas.assemble(half, "sm_90a").is_err());
}

const ECHO: Role = Role::new("corpus_is_whole::echo");

#[test]
fn echo() {
    if let Some(argument) = ECHO.argument() {
        println!("played with {argument}");
    }
}

#[test]
fn a_role_is_played_by_a_process_of_its_own() {
    let output = ECHO.command("these words").unwrap().output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("played with these words"));
}
