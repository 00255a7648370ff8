//! Async requests above a real folder: tasks of several caches, threads among them, one lowering.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pollster::block_on;
use ptx_cache::{Config, PtxCache, Source, WritePolicy};
use ptx_disk::DiskStore;
use ptx_key::{Digest, PtxKey};

fn cache(root: &std::path::Path) -> PtxCache {
    let disk = DiskStore::open(ptx_disk::Config::new(root)).unwrap();
    PtxCache::with_tiers(Config::default(), vec![Arc::new(disk)], WritePolicy::Ignore)
}

#[test]
fn tasks_and_threads_of_two_caches_over_one_folder_share_one_lowering() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let caches = [cache(&root), cache(&root)];
    let lowerings = AtomicUsize::new(0);
    let lower = || {
        lowerings.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        Ok::<_, std::fmt::Error>(".version 8.0\n.target sm_90\n".to_owned())
    };
    let key = PtxKey::from_bytes(*Digest::of_bytes(b"shared").as_bytes());
    thread::scope(|scope| {
        for cache in &caches {
            for _ in 0..8 {
                scope.spawn(|| cache.get_or_lower(&key, lower).unwrap());
                scope.spawn(|| {
                    block_on(cache.get_or_lower_async(&key, || async { lower() })).unwrap()
                });
            }
        }
    });
    assert_eq!(lowerings.load(Ordering::Relaxed), 1);
    // A third cache starts warm.
    let served = block_on(cache(&root).get_or_lower_async(&key, || async { lower() })).unwrap();
    assert_eq!(served.source, Source::Tier("disk".into()));
}
