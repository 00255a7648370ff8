//! A file system that fails turns a part of the store off, says so once, and comes back.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation};
use ptx_disk::{Config, DiskError, DiskStore, Times};

use crate::fixture::{Details as _, Read, Write, config, entry, key, loaded};

fn fails_while(
    broken: &Arc<AtomicBool>,
    operation: Operation,
    errno: i32,
) -> (Arc<FaultyStorage>, Arc<MemoryStorage>) {
    let (broken, memory) = (Arc::clone(broken), Arc::new(MemoryStorage::new()));
    let faulty = FaultyStorage::new(Arc::clone(&memory) as Arc<_>, move |asked| {
        let fails = asked == operation && broken.load(Ordering::Relaxed);
        fails.then(|| io::Error::from_raw_os_error(errno))
    });
    (Arc::new(faulty), memory)
}

#[test]
fn a_full_disk_turns_writing_off_with_one_warning_and_reading_stays_on() {
    let full = Arc::new(AtomicBool::new(false));
    let (storage, _) = fails_while(&full, Operation::WriteAt, 28);
    let (config, warnings) = config(Path::new("/store"));
    let pause = Duration::from_secs(3600);
    let store = DiskStore::open_on(
        storage,
        Config { times: Times { first_pause: pause, ..Times::STANDARD }, ..config },
    )
    .unwrap();
    let _ = store.write(&key(1), &entry(1));
    full.store(true, Ordering::Relaxed);
    assert!(store.is_writable());
    for number in 2..50 {
        let stored = store.write(&key(number), &entry(number));
        match number {
            2 => assert!(matches!(stored, Write::Failed(DiskError::Storage { .. }))),
            _ => assert!(matches!(stored, Write::Refused)),
        }
        assert!(loaded(&store, 1).is_some());
        assert!(!store.is_writable());
    }
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("No space left on device"), "{warnings:?}");
    let statistics = store.statistics();
    assert_eq!((statistics.degraded, statistics.write_failures, statistics.refused), (1, 1, 47));
}

#[test]
fn a_failure_is_said_once_by_those_who_print_what_is_behind_it_too() {
    let full = Arc::new(AtomicBool::new(true));
    let (storage, _) = fails_while(&full, Operation::WriteAt, 28);
    let store = crate::fixture::store_on(FaultyStorage::new(storage, |_| None));
    let Write::Failed(error) = store.write(&key(1), &entry(1)) else { panic!("it was kept") };
    let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    let said = chain.map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(said.matches("No space left on device").count(), 1, "{said}");
}

#[test]
fn writing_comes_back_by_itself() {
    let full = Arc::new(AtomicBool::new(true));
    let (storage, memory) = fails_while(&full, Operation::CreateFile, 122);
    let (config, warnings) = config(Path::new("/store"));
    let store = DiskStore::open_on(storage, config).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Failed(_)));
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Failed(_)));
    full.store(false, Ordering::Relaxed);
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&store, 1).is_some());
    assert_eq!(warnings.lock().unwrap().len(), 1);
    full.store(true, Ordering::Relaxed);
    let _ = store.write(&key(2), &entry(2));
    assert_eq!(warnings.lock().unwrap().len(), 2, "a second time is said again");
    assert!(!memory.files().keys().any(|path| path.starts_with("/store/tmp")));
}

#[test]
fn one_unreadable_file_does_not_turn_reading_off_and_a_dead_medium_does() {
    let broken = Arc::new(AtomicBool::new(false));
    let (storage, _) = fails_while(&broken, Operation::OpenFile, 13);
    let (config, warnings) = config(Path::new("/store"));
    let pause = Duration::from_secs(3600);
    let store = DiskStore::open_on(
        storage,
        Config { times: Times { first_pause: pause, ..Times::STANDARD }, ..config },
    )
    .unwrap();
    let _ = store.write(&key(1), &entry(1));
    for _ in 0..10 {
        broken.store(true, Ordering::Relaxed);
        assert!(matches!(store.read(&key(1)), Read::Failed(DiskError::Storage { .. })));
        broken.store(false, Ordering::Relaxed);
        assert!(loaded(&store, 1).is_some());
    }
    assert!(warnings.lock().unwrap().is_empty());
    broken.store(true, Ordering::Relaxed);
    for _ in 0..10 {
        assert!(store.read(&key(1)).hit().is_none());
    }
    assert_eq!(warnings.lock().unwrap().len(), 1);
    let statistics = store.statistics();
    assert_eq!((statistics.degraded, statistics.read_failures), (1, 13));
    assert_eq!((statistics.hits, statistics.misses), (10, 20));
}

#[test]
fn a_directory_that_cannot_be_created_is_a_warning_and_no_error() {
    let broken = Arc::new(AtomicBool::new(true));
    let (storage, _) = fails_while(&broken, Operation::CreateDirectory, 30);
    let (config, warnings) = config(Path::new("/home/nobody/.cache/ptx"));
    let store = DiskStore::open_on(storage, config).unwrap();
    assert_eq!(warnings.lock().unwrap().len(), 1);
    assert!(matches!(store.read(&key(1)), Read::Miss));
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Failed(_)));
    broken.store(false, Ordering::Relaxed);
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
}
