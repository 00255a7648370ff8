//! A store keeps to its bounds, and keeps what is worth most.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation, Storage};
use ptx_disk::{Artifact, Compression, Config, DiskError, DiskStore, PtxArtifact, Size, Times};
use ptx_key::Digest;

use crate::fixture::{Details as _, Write, config, entry, key, loaded, path_of};

fn open_on(storage: Arc<dyn Storage>, budget: Size) -> DiskStore {
    let (config, _) = config(Path::new("/store"));
    DiskStore::open_on(storage, Config { budget, ..config }).unwrap()
}

fn costing(number: u32, seconds: u64) -> PtxArtifact {
    entry(number).with_cost(Duration::from_secs(seconds))
}

fn resident(storage: &MemoryStorage) -> usize {
    storage.files().keys().filter(|path| path.starts_with("/store/entries-1")).count()
}

#[test]
fn a_store_never_holds_many_more_entries_than_it_may() {
    let storage = MemoryStorage::new();
    let budget = Size { entries: 100, ..Size::UNBOUNDED };
    let store = open_on(Arc::new(storage.clone()), budget);
    for number in 0..600 {
        let _ = store.write(&key(number), &entry(number));
        // While it does not know every directory yet it may hold what those held before.
        assert!(resident(&storage) <= 101, "{} after {number}", resident(&storage));
    }
    assert!(resident(&storage) > 80, "{}", resident(&storage));
    let statistics = store.statistics();
    assert_eq!(statistics.published - statistics.trimmed, resident(&storage) as u64);
}

#[test]
fn bytes_are_counted_in_blocks() {
    let storage = MemoryStorage::new();
    let budget = Size { bytes: 50 * 4096, ..Size::UNBOUNDED };
    let store = open_on(Arc::new(storage.clone()), budget);
    for number in 0..300 {
        let _ = store.write(&key(number), &entry(number));
    }
    assert!((40..=51).contains(&resident(&storage)), "{}", resident(&storage));
}

#[test]
fn expensive_entries_stay_and_cheap_ones_are_victims() {
    let storage = MemoryStorage::new();
    let budget = Size { entries: 200, ..Size::UNBOUNDED };
    let store = open_on(Arc::new(storage.clone()), budget);
    for number in 0..100 {
        let _ = store.write(&key(number), &costing(number, 100));
    }
    for number in 100..1000 {
        let _ = store.write(&key(number), &costing(number, 1));
    }
    let dear = (0..100).filter(|number| loaded(&store, *number).is_some()).count();
    assert_eq!(dear, 100);
}

#[test]
fn a_trim_is_exact() {
    let storage = MemoryStorage::new();
    let unbounded = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..300 {
        let _ = unbounded.write(&key(number), &costing(number, u64::from(number)));
    }
    let budget = Size { entries: 70, ..Size::UNBOUNDED };
    let store = open_on(Arc::new(storage.clone()), budget);
    assert_eq!(store.trim().unwrap().entries, 230);
    assert_eq!(resident(&storage), 70);
    assert!((230..300).all(|number| loaded(&store, number).is_some()), "the dearest stay");
    assert_eq!(store.trim().unwrap().entries, 0);
    let budget = Size { bytes: 10 * 4096, ..budget };
    let store = open_on(Arc::new(storage.clone()), budget);
    let trimmed = store.trim().unwrap();
    assert_eq!((trimmed.entries, trimmed.bytes), (60, 60 * 4096));
}

#[test]
fn variants_of_one_program_count_for_less_beside_each_other() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..40 {
        let mut entry = costing(number, 10);
        let family = if number < 20 { 0 } else { u8::try_from(number).unwrap() };
        entry.family = Some(Digest::from_bytes([family; 32]));
        let _ = store.write(&key(number), &entry);
    }
    let store = open_on(Arc::new(storage), Size { entries: 21, ..Size::UNBOUNDED });
    let _ = store.trim().unwrap();
    let stays = |range: std::ops::Range<u32>| {
        range.filter(|number| loaded(&store, *number).is_some()).count()
    };
    assert_eq!(stays(20..40), 20);
    assert_eq!(stays(0..20), 1);
}

#[test]
fn what_nobody_uses_grows_old_and_what_is_used_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = DiskStore::open(config(&root).0).unwrap();
    let days = |count: u64| Duration::from_secs(count * 24 * 60 * 60);
    for number in 0..4 {
        let _ = store.write(&key(number), &entry(number));
        let file = fs::File::open(path_of(&root, number)).unwrap();
        file.set_modified(SystemTime::now() - days(u64::from(number) * 40)).unwrap();
    }
    assert!(loaded(&store, 3).is_some(), "used now");
    let trimmed = store.trim().unwrap();
    assert_eq!(trimmed.entries, 0, "80 days are not 90, and the other one was used");
    let file = fs::File::open(path_of(&root, 2)).unwrap();
    file.set_modified(SystemTime::now() - days(91)).unwrap();
    assert_eq!(store.trim().unwrap().entries, 1);
    assert!(loaded(&store, 2).is_none() && loaded(&store, 3).is_some());
}

#[test]
fn writes_remove_what_nobody_uses_without_a_trim() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in [5, 256 + 5, 6] {
        let _ = store.write(&key(number), &entry(number));
        let file = storage.open_file(&path_of(Path::new("/store"), number)).unwrap();
        let days = Duration::from_secs(24 * 60 * 60);
        file.set_modified(SystemTime::now() - days * if number == 5 { 91 } else { 89 }).unwrap();
    }
    // The first write of a process looks at the directory that it wrote to.
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    let _ = store.write(&key(512 + 5), &entry(512 + 5));
    let there = |number| storage.files().contains_key(&path_of(Path::new("/store"), number));
    assert_eq!([5, 256 + 5, 6, 512 + 5].map(there), [false, true, true, true]);
    assert_eq!(store.statistics().trimmed, 1);
}

#[test]
fn a_total_that_is_wrong_costs_no_entry() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..300 {
        let _ = store.write(&key(number), &entry(number));
    }
    // One directory is said to hold more than any disk.
    let totals = storage.open_or_create_file(Path::new("/store/totals-1")).unwrap();
    totals.write_at(&[0xEE; 16], 16 * 5).unwrap();
    let _ = store.write(&key(300), &entry(300));
    assert_eq!(store.statistics().trimmed, 0);
    assert_eq!(resident(&storage), 301);
    let mut slot = [0; 16];
    totals.read_at(&mut slot, 16 * 5).unwrap();
    assert!(slot[0] < 5 && slot[1] == 0, "it was counted again");
}

#[test]
fn one_process_trims_and_the_others_pass_by() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size { entries: 5, ..Size::UNBOUNDED });
    let trimmer = storage.create_directory(Path::new("/store")).err();
    assert!(trimmer.is_some(), "the store is there");
    let lock = storage.open_or_create_file(Path::new("/store/trimmer")).unwrap();
    assert!(lock.try_lock().unwrap());
    for number in 0..20 {
        assert!(matches!(store.write(&key(number), &entry(number)), Write::Published));
    }
    assert!(matches!(store.trim(), Err(DiskError::Trimming { .. })), "it says that it did nothing");
    assert_eq!(resident(&storage), 20);
    drop(lock);
    assert_eq!(store.trim().unwrap().entries, 15);
}

#[test]
fn a_write_costs_the_same_operations_however_many_entries_there_are() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    // Every directory is made and counted.
    for number in 0..=256 {
        let _ = store.write(&key(number), &entry(number));
    }
    let mut next = 256;
    let mut cost = || {
        let one = |next: &mut u32| {
            *next += 1;
            let before = storage.operations();
            let _ = store.write(&key(*next), &entry(*next));
            storage.operations() - before
        };
        // Some writes sweep as well.
        (0..10).map(|_| one(&mut next)).min().unwrap()
    };
    let few = cost();
    for number in 10_000..12_000 {
        let _ = store.write(&key(number), &entry(number));
    }
    assert_eq!(cost(), few);
}

#[test]
fn the_last_of_the_disk_is_left_to_others() {
    let storage = MemoryStorage::new();
    storage.set_room(2 << 20, 100 << 20);
    let (config, warnings) = config(Path::new("/store"));
    let pause = Duration::from_secs(3600);
    let store = DiskStore::open_on(
        Arc::new(storage),
        Config { times: Times { first_pause: pause, ..Times::STANDARD }, ..config },
    )
    .unwrap();
    let first = store.write(&key(0), &entry(0));
    assert!(matches!(first, Write::Failed(DiskError::NoRoom { .. })), "{first:?}");
    for number in 1..5 {
        assert!(matches!(store.write(&key(number), &entry(number)), Write::Refused));
    }
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("2097152 bytes are free"), "{warnings:?}");
}

#[test]
fn an_entry_that_a_wrong_clock_put_into_the_future_is_no_dearer_for_it() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..4 {
        let _ = store.write(&key(number), &costing(number, 10 + u64::from(number)));
    }
    let file = storage.open_file(&path_of(Path::new("/store"), 0)).unwrap();
    let days = Duration::from_secs(24 * 60 * 60);
    file.set_modified(SystemTime::now() + days * 365).unwrap();
    assert_eq!(store.trim().unwrap().entries, 0);
    assert!(file.metadata().unwrap().modified < SystemTime::now() + days);
    file.set_modified(SystemTime::now() + days * 365).unwrap();
    let store = open_on(Arc::new(storage), Size { entries: 3, ..Size::UNBOUNDED });
    assert_eq!(store.trim().unwrap().entries, 1);
    assert!(loaded(&store, 0).is_none() && loaded(&store, 3).is_some());
}

#[test]
fn an_entry_that_is_used_or_replaced_while_a_trim_weighs_it_stays() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..2 {
        let _ = store.write(&key(number), &costing(number, 1 + u64::from(number)));
    }
    let memory = storage.clone();
    let faulty = FaultyStorage::new(Arc::new(storage), move |operation| {
        // A last look, or, without one, the removal.
        if matches!(operation, Operation::Metadata | Operation::RemoveFile) {
            let file = memory.open_file(&path_of(Path::new("/store"), 0)).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
        }
        None
    });
    let store = open_on(Arc::new(faulty), Size { entries: 1, ..Size::UNBOUNDED });
    assert_eq!(store.trim().unwrap().entries, 0);
    assert!(loaded(&store, 0).is_some());
}

#[test]
fn the_entries_of_a_newer_release_are_not_the_first_victims() {
    let storage = MemoryStorage::new();
    let store = open_on(Arc::new(storage.clone()), Size::UNBOUNDED);
    for number in 0..10 {
        let _ = store.write(&key(number), &costing(number, 1));
    }
    let path = path_of(Path::new("/store"), 10);
    let _ = store.write(&key(10), &costing(10, 100));
    let file = storage.open_or_create_file(&path).unwrap();
    let mut bytes = storage.files()[&path].clone();
    bytes[10] = 9;
    let end = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize - 32;
    let digest = Digest::of_bytes(&bytes[..end]);
    bytes[end..end + 32].copy_from_slice(digest.as_bytes());
    file.write_at(&bytes, 0).unwrap();
    for number in 0..5 {
        let cheap = storage.open_file(&path_of(Path::new("/store"), number)).unwrap();
        let weeks = Duration::from_secs(8 * 7 * 24 * 60 * 60);
        cheap.set_modified(SystemTime::now() - weeks).unwrap();
    }
    let store = open_on(Arc::new(storage.clone()), Size { entries: 6, ..Size::UNBOUNDED });
    assert_eq!(store.trim().unwrap().entries, 5);
    assert!(storage.files().contains_key(&path));
}

#[test]
fn an_entry_that_would_take_of_the_last_of_the_disk_is_not_written() {
    let storage = MemoryStorage::new();
    let (config, _) = config(Path::new("/store"));
    let config = Config { compression: Compression::Off, ..config };
    let store = DiskStore::open_on(Arc::new(storage.clone()), config).unwrap();
    // A twentieth is left to others, and a little more is free.
    storage.set_room((5 << 20) + 4096, 100 << 20);
    let large = Artifact::from(" ".repeat(5000));
    assert!(matches!(store.write(&key(1), &large), Write::Failed(DiskError::NoRoom { .. })));
    assert!(matches!(store.write(&key(2), &entry(2)), Write::Published));
}

#[test]
fn a_total_that_cannot_be_written_turns_writing_off_and_loses_nothing() {
    let memory = MemoryStorage::new();
    let faulty = FaultyStorage::new(Arc::new(memory), |operation| {
        (operation == Operation::TryLock).then(|| io::Error::from_raw_os_error(5))
    });
    let store = open_on(Arc::new(faulty), Size::UNBOUNDED);
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&store, 1).is_some());
    assert_eq!(store.statistics().degraded, 1);
}

#[test]
fn an_entry_larger_than_the_bound_does_not_flush_the_rest() {
    let storage = MemoryStorage::new();
    let (config, _) = config(Path::new("/store"));
    let budget = Size { bytes: 400 * 1024, ..Size::UNBOUNDED };
    let config = Config { budget, compression: Compression::Off, ..config };
    let store = DiskStore::open_on(Arc::new(storage.clone()), config).unwrap();
    for number in 0..50 {
        let _ = store.write(&key(number), &costing(number, 10));
    }
    let large = Artifact::from(" ".repeat(500 * 1024)).with_cost(Duration::from_secs(10));
    let _ = store.write(&key(1000), &large);
    let _ = store.trim().unwrap();
    assert!((0..50).all(|number| loaded(&store, number).is_some()));
    assert!(store.read(&key(1000)).hit().is_none());
}
