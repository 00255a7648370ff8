//! Threads that want one key.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation};
use ptx_disk::{Claim, Config, DiskStore, Store as _};

use crate::fixture::{Details as _, config, entry, key, loaded, store};

/// Loads, claims, lowers: what a cache does on a miss.
fn get_or_lower(store: &DiskStore, number: u32, lowered: &AtomicU32) {
    if loaded(store, number).is_some() {
        return;
    }
    match store.claim(&key(number)) {
        Ok(Claim::Published(_)) => {}
        claim => {
            lowered.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            let _ = store.write(&key(number), &entry(number));
            drop(claim);
        }
    }
    assert!(loaded(store, number).is_some());
}

#[test]
fn threads_lower_each_key_once_whether_they_share_a_store_or_not() {
    const THREADS: usize = 8;
    const KEYS: u32 = 20;
    let directory = tempfile::tempdir().unwrap();
    let open = || DiskStore::open(config(&directory.path().join("store")).0).unwrap();
    let (shared, lowered, barrier) = (open(), AtomicU32::new(0), Barrier::new(THREADS));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shared, lowered, barrier) = (&shared, &lowered, &barrier);
            scope.spawn(move || {
                let own = (thread % 2 == 0).then(open);
                barrier.wait();
                for number in 0..KEYS {
                    get_or_lower(own.as_ref().unwrap_or(shared), number, lowered);
                }
            });
        }
    });
    assert_eq!(lowered.into_inner(), KEYS);
}

#[test]
fn without_locks_threads_still_lower_each_key_once() {
    const THREADS: u32 = 6;
    const KEYS: u32 = 10;
    let faulty = FaultyStorage::new(Arc::new(MemoryStorage::new()), |operation| {
        (operation == Operation::TryLock).then(|| std::io::ErrorKind::Unsupported.into())
    });
    let (config, warnings) = config(Path::new("/store"));
    let open = || DiskStore::open_on(Arc::new(faulty.clone()), config.clone()).unwrap();
    let lowered = AtomicU32::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, lowered) = (open(), &lowered);
            scope.spawn(move || {
                for number in 0..KEYS {
                    get_or_lower(&store, (number + thread) % KEYS, lowered);
                }
            });
        }
    });
    assert_eq!(lowered.into_inner(), KEYS);
    assert!(warnings.lock().unwrap().is_empty());
}

#[test]
fn a_waiter_gives_up_after_the_longest_wait() {
    let directory = tempfile::tempdir().unwrap();
    let (config, warnings) = config(&directory.path().join("store"));
    let wait = Duration::from_millis(30);
    let store = DiskStore::open(Config { longest_claim_wait: wait, ..config }).unwrap();
    let held = store.claim(&key(1));
    assert!(matches!(held, Ok(Claim::Held(_))));
    assert!(matches!(store.claim(&key(1)), Ok(Claim::NotCoordinated)));
    let said = warnings.lock().unwrap().join("\n");
    assert!(!said.contains("  "), "{said}");
    assert!(said.contains("waited 30ms") && said.contains(&key(1).to_string()), "{said}");
    drop(held);
    assert!(matches!(store.claim(&key(1)), Ok(Claim::Held(_))));
    let statistics = store.statistics();
    assert_eq!((statistics.claims_held, statistics.not_coordinated), (2, 1));
}

#[test]
fn a_waiter_reads_a_file_that_is_of_no_use_to_it_once() {
    let storage = MemoryStorage::new();
    let (config, _) = config(Path::new("/store"));
    let store = DiskStore::open_on(Arc::new(storage.clone()), config.clone()).unwrap();
    let _ = store.write(&key(1), &entry(1));
    let wait = Duration::from_millis(60);
    let strict = Config { most_entry_bytes: 10, longest_claim_wait: wait, ..config };
    let strict = DiskStore::open_on(Arc::new(storage), strict).unwrap();
    let held = strict.claim(&key(1));
    assert!(matches!(held, Ok(Claim::Held(_))), "the entry is too large for this store");
    assert!(matches!(strict.claim(&key(1)), Ok(Claim::NotCoordinated)));
    assert_eq!(strict.statistics().left_alone, 2);
}

#[test]
fn a_claim_on_a_key_that_was_published_gives_the_entry() {
    let (store, _directory) = store();
    let _ = store.write(&key(1), &entry(1));
    assert!(matches!(store.claim(&key(1)), Ok(Claim::Published(_))));
}

#[test]
fn a_waiter_gets_the_entry_while_the_claim_is_still_held() {
    let (store, _directory) = store();
    let held = store.claim(&key(1));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| store.claim(&key(1)));
        let _ = store.write(&key(1), &entry(1));
        assert!(matches!(waiter.join().unwrap(), Ok(Claim::Published(_))));
    });
    drop(held);
}
