//! The corpus is what its manifest says, and the cache serves it unchanged.

use ptx_cache::{Config, PtxCache, Source};
use ptx_key::{Digest, PtxKey};
use ptx_tests::Corpus;

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
    for expected in [Source::Computed, Source::Memory] {
        for file in &files {
            let lower = || Ok::<_, std::fmt::Error>(file.text.clone());
            let served = cache.get_or_lower(&key(&file.text), lower).unwrap();
            assert_eq!((&served.payload, &served.source), (&file.text, &expected));
        }
    }
    let resident = cache.snapshot().memory.resident;
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    assert_eq!((resident.entries, resident.bytes), (967, bytes as u64));
}
