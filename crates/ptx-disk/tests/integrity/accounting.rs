//! What a store says that it holds is what it holds, whatever happened to its entries.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation, Storage};
use ptx_disk::{Artifact, Compression, Config, DiskStore, Durability, Store as _};

use crate::fixture::{Details as _, Read, Write, config, entry, imported, key, path_of, store_on};

const TOTALS: &str = "/store/totals-1";

/// Entries and bytes in blocks, by the file of totals as `FORMAT.md` draws it; none below zero,
/// since nobody writes.
fn said(storage: &MemoryStorage) -> (u64, u64) {
    let files = storage.files();
    let slots = &files[Path::new(TOTALS)][16..];
    let numbers: Vec<u64> =
        slots.chunks(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect();
    assert!(numbers.iter().all(|number| *number != u64::MAX), "a directory is not counted");
    let sum = |skip| numbers.iter().skip(skip).step_by(2).sum();
    (sum(0), sum(1))
}

fn held(storage: &MemoryStorage) -> (u64, u64) {
    let files = storage.files();
    let entries = files.iter().filter(|(path, _)| path.starts_with("/store/entries-1"));
    entries.fold((0, 0), |(entries, bytes), (_, file)| {
        (entries + 1, bytes + (file.len() as u64).div_ceil(4096) * 4096)
    })
}

/// A store that knows all of its directories.
fn counted() -> (MemoryStorage, DiskStore) {
    let storage = MemoryStorage::new();
    let store = store_on(storage.clone());
    let _ = store.trim().unwrap();
    (storage, store)
}

fn damage(storage: &MemoryStorage, number: u32) {
    let file = storage.open_or_create_file(&path_of(Path::new("/store"), number)).unwrap();
    file.write_at(b"damage", 200).unwrap();
}

#[test]
fn an_entry_over_an_imported_one_takes_its_place_in_the_totals() {
    let (storage, store) = counted();
    let imported = imported();
    let _ = store.write(&key(1), &imported);
    let noise = (0..20_000).map(|_| fastrand::alphanumeric()).collect::<String>();
    let local = Artifact::from(noise);
    assert!(matches!(store.write(&key(1), &local), Write::PublishedOverImported));
    assert_eq!(said(&storage), held(&storage));
}

#[test]
fn what_is_quarantined_is_no_longer_counted() {
    let (storage, store) = counted();
    for number in [1, 2] {
        let _ = store.write(&key(number), &entry(number));
        damage(&storage, number);
    }
    assert!(matches!(store.read(&key(1)), Read::Damaged(_)));
    assert_eq!(said(&storage), held(&storage), "quarantined by a load");
    assert!(matches!(store.write(&key(2), &entry(2)), Write::Published));
    assert_eq!(said(&storage), held(&storage), "quarantined by a write");
}

#[test]
fn an_entry_whose_directory_cannot_be_synced_is_there_and_counted() {
    let (storage, _) = counted();
    let faulty = FaultyStorage::new(Arc::new(storage.clone()), |operation| {
        (operation == Operation::SyncDirectory).then(|| io::Error::from_raw_os_error(5))
    });
    let (config, _) = config(Path::new("/store"));
    let config = Config { durability: Durability::Full, ..config };
    let store = DiskStore::open_on(Arc::new(faulty), config).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Failed(_)));
    assert_eq!((said(&storage), held(&storage).0), (held(&storage), 1));
}

#[test]
fn a_change_that_another_process_kept_from_the_totals_is_recorded_when_the_store_closes() {
    let (storage, store) = counted();
    let lock = storage.open_or_create_file(Path::new(TOTALS)).unwrap();
    assert!(lock.try_lock().unwrap());
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    drop(lock);
    drop(store);
    assert_eq!((said(&storage), held(&storage).0), (held(&storage), 1));
}

/// A store whose locks fail while the switch is on.
fn with_failing_locks(storage: &MemoryStorage) -> (Arc<FaultyStorage>, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&broken);
    let faulty = FaultyStorage::new(Arc::new(storage.clone()), move |operation| {
        let fails = operation == Operation::TryLock && broken.load(Ordering::Relaxed);
        fails.then(|| io::Error::from_raw_os_error(5))
    });
    (Arc::new(faulty), switch)
}

#[test]
fn a_change_that_could_not_be_recorded_is_recorded_with_the_next() {
    let (storage, _) = counted();
    let (faulty, broken) = with_failing_locks(&storage);
    let store = DiskStore::open_on(faulty, config(Path::new("/store")).0).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    broken.store(false, Ordering::Relaxed);
    assert!(matches!(store.write(&key(2), &entry(2)), Write::Published));
    assert_eq!((said(&storage), held(&storage).0), (held(&storage), 2));
}

#[test]
fn totals_that_cannot_be_written_for_long_are_said_once() {
    let (storage, _) = counted();
    let (faulty, broken) = with_failing_locks(&storage);
    let (config, warnings) = config(Path::new("/store"));
    let store = DiskStore::open_on(faulty, config).unwrap();
    for number in 0..5 {
        assert!(matches!(store.write(&key(number), &entry(number)), Write::Published));
    }
    assert_eq!(warnings.lock().unwrap().len(), 1, "{warnings:?}");
    broken.store(false, Ordering::Relaxed);
    let _ = store.write(&key(5), &entry(5));
    broken.store(true, Ordering::Relaxed);
    let _ = store.write(&key(6), &entry(6));
    assert_eq!(warnings.lock().unwrap().len(), 2, "it worked in between");
}

#[test]
fn two_changes_in_a_directory_that_was_never_counted_are_counted_once() {
    let storage = MemoryStorage::new();
    let (config, _) = config(Path::new("/store"));
    let config = Config { compression: Compression::Off, ..config };
    let store = DiskStore::open_on(Arc::new(storage.clone()), config).unwrap();
    let _ = store.write(&key(7), &entry(7));
    storage.remove_file(Path::new(TOTALS)).unwrap();
    assert_eq!(store.recompress(Compression::Zstd { level: 9 }).unwrap().entries, 1);
    // Each write counts one more directory.
    for _ in 0..300 {
        let _ = store.write(&key(300), &entry(300));
        let _ = store.remove(&key(300)).unwrap();
    }
    assert_eq!((said(&storage), held(&storage).0), (held(&storage), 1));
}

#[test]
fn those_who_write_and_remove_at_once_leave_exact_totals() {
    let (storage, _) = counted();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = store_on(storage.clone());
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                for _ in 0..1000 {
                    // Few directories with few entries, so that they meet.
                    let number = random.u32(0..4) + 256 * random.u32(0..2);
                    if random.bool() {
                        let _ = store.write(&key(number), &entry(number));
                    } else {
                        let _ = store.remove(&key(number)).unwrap();
                    }
                }
                assert_eq!(store.statistics().degraded, 0);
            });
        }
    });
    assert_eq!(said(&storage), held(&storage));
}

#[test]
fn what_others_write_while_a_trim_counts_is_not_lost() {
    let (storage, store) = counted();
    for number in 0..20 {
        let _ = store.write(&key(number), &entry(number));
    }
    let (writer, lists) = (store_on(storage.clone()), AtomicU32::new(0));
    let faulty = FaultyStorage::new(Arc::new(storage.clone()), move |operation| {
        if operation == Operation::List {
            // Into the first directory, once that is counted.
            let number = lists.fetch_add(1, Ordering::Relaxed) * 256;
            if number > 0 {
                let _ = writer.write(&key(number), &entry(number));
            }
        }
        None
    });
    let _ = store_on(faulty).trim().unwrap();
    assert_eq!(held(&storage).0, 20 + 255);
    assert_eq!(said(&storage), held(&storage));
}
