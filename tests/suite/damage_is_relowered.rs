//! A damaged entry costs one lowering: it is set aside, counted, and written anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_cache::{Config, PtxCache, Source, WritePolicy};
use ptx_disk::DiskStore;
use ptx_key::{Digest, PtxKey};
use ptx_tests::Corpus;

fn cache(root: &Path) -> PtxCache {
    let disk = DiskStore::open(ptx_disk::Config::new(root)).unwrap();
    PtxCache::with_tiers(Config::default(), vec![Arc::new(disk)], WritePolicy::Ignore)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn a_damaged_entry_is_lowered_again_and_served_from_disk_afterwards() {
    let Some(corpus) = Corpus::find() else { return };
    let files = corpus.ptx_files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    for file in files.iter().take(20) {
        let key = PtxKey::from_bytes(*Digest::of_bytes(file.text.as_bytes()).as_bytes());
        let serve = |cache: &PtxCache| {
            let served =
                cache.get_or_lower(&key, || Ok::<_, std::fmt::Error>(file.text.clone())).unwrap();
            assert_eq!(served.payload, file.text);
            served.source
        };
        assert_eq!(serve(&cache(&root)), Source::Computed);
        assert_eq!(serve(&cache(&root)), Source::Tier("disk".into()));

        // The entry is the one file that holds the key.
        let holds_key = |path: &&PathBuf| {
            let bytes = fs::read(path).unwrap();
            bytes.windows(32).any(|window| window == key.as_bytes())
        };
        let all = files_below(&root);
        let entry = all.iter().find(holds_key).unwrap();
        let mut bytes = fs::read(entry).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(entry, bytes).unwrap();

        let damaged = cache(&root);
        assert_eq!(serve(&damaged), Source::Computed);
        assert_eq!(damaged.snapshot().tiers[0].quarantined, 1);
        assert_eq!(serve(&cache(&root)), Source::Tier("disk".into()));
    }
}
