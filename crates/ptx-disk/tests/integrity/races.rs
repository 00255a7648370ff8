//! Another process does something between two steps of ours.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation, Storage, Survival};
use ptx_disk::{Artifact, Compression, Config, DiskStore, Durability, Store as _};

use crate::fixture::{Details as _, Write, config, entry, imported, key, loaded, store_on};

/// `storage`, on which `other` happens once, before the first of `operations`.
fn meanwhile(
    storage: &MemoryStorage,
    operations: &'static [Operation],
    other: impl Fn(&MemoryStorage) + Send + Sync + 'static,
) -> FaultyStorage {
    let (memory, done) = (storage.clone(), AtomicBool::new(false));
    FaultyStorage::new(Arc::new(storage.clone()), move |operation| {
        if operations.contains(&operation) && !done.swap(true, Ordering::Relaxed) {
            other(&memory);
        }
        None
    })
}

const REPLACING: &[Operation] = &[Operation::Exchange, Operation::Rename];

#[test]
fn of_two_local_entries_over_an_imported_one_the_first_stays_and_the_other_is_reported() {
    let storage = MemoryStorage::new();
    let _ = store_on(storage.clone()).write(&key(1), &imported());
    let racing = meanwhile(&storage, REPLACING, |memory| {
        let stored = store_on(memory.clone()).write(&key(1), &entry(1));
        assert!(matches!(stored, Write::PublishedOverImported), "{stored:?}");
    });
    let other = Artifact::from("another lowering");
    let stored = store_on(racing).write(&key(1), &other);
    assert!(matches!(stored, Write::Conflicting), "{stored:?}");
    assert!(loaded(&store_on(storage.clone()), 1).is_some());
    assert!(!storage.files().keys().any(|path| path.starts_with("/store/tmp")));
}

#[test]
fn an_imported_entry_that_is_stored_smaller_takes_no_local_one_away() {
    let storage = MemoryStorage::new();
    let mut imported = imported();
    imported.payload = "imported ".repeat(500).into();
    let (config, _) = config(Path::new("/store"));
    let plain = Config { compression: Compression::Off, ..config };
    let plain = DiskStore::open_on(Arc::new(storage.clone()), plain).unwrap();
    let _ = plain.write(&key(1), &imported);
    let racing = meanwhile(&storage, REPLACING, |memory| {
        let _ = store_on(memory.clone()).write(&key(1), &entry(1));
    });
    let saved = store_on(racing).recompress(Compression::Zstd { level: 9 }).unwrap();
    assert_eq!(saved.entries, 0);
    assert!(loaded(&store_on(storage), 1).is_some());
}

#[test]
fn an_entry_that_is_removed_while_it_is_replaced_is_written_again() {
    let storage = MemoryStorage::new();
    let _ = store_on(storage.clone()).write(&key(1), &imported());
    let racing = meanwhile(&storage, &[Operation::Exchange], |memory| {
        assert!(store_on(memory.clone()).remove(&key(1)).unwrap());
    });
    assert!(matches!(store_on(racing).write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&store_on(storage), 1).is_some());
}

#[test]
fn without_an_exchange_a_local_entry_still_stands_over_an_imported_one() {
    let storage = MemoryStorage::new();
    let faulty = FaultyStorage::new(Arc::new(storage), |operation| {
        (operation == Operation::Exchange).then(|| std::io::ErrorKind::Unsupported.into())
    });
    let store = store_on(faulty);
    let _ = store.write(&key(1), &imported());
    assert!(matches!(store.write(&key(1), &entry(1)), Write::PublishedOverImported));
    assert!(loaded(&store, 1).is_some());
}

#[test]
fn a_file_that_is_swept_before_it_is_published_is_written_again() {
    let storage = MemoryStorage::new();
    let racing = meanwhile(&storage, &[Operation::RenameNew], |memory| {
        for path in memory.files().keys().filter(|path| path.starts_with("/store/tmp")) {
            memory.remove_file(path).unwrap();
        }
    });
    let store = store_on(racing);
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&store, 1).is_some());
}

fn durable(storage: &MemoryStorage, root: &str) -> DiskStore {
    let (config, _) = config(Path::new(root));
    let config = Config { durability: Durability::Full, ..config };
    DiskStore::open_on(Arc::new(storage.clone()), config).unwrap()
}

#[test]
fn what_another_process_wrote_without_syncing_is_synced_for_one_who_asks() {
    let storage = MemoryStorage::new();
    assert!(matches!(store_on(storage.clone()).write(&key(1), &entry(1)), Write::Published));
    assert!(matches!(durable(&storage, "/store").write(&key(1), &entry(1)), Write::AlreadyThere));
    for survival in [Survival::Synced, Survival::NamesAndLengths] {
        let next = store_on(storage.after_power_cut(survival));
        assert!(loaded(&next, 1).is_some(), "{survival:?}");
    }
}

#[test]
fn a_durable_store_survives_with_all_the_directories_that_were_created_for_it() {
    let storage = MemoryStorage::new();
    storage.create_directory(Path::new("/home")).unwrap();
    storage.sync_directory(Path::new("/")).unwrap();
    let root = "/home/me/.cache/ptx";
    assert!(matches!(durable(&storage, root).write(&key(1), &entry(1)), Write::Published));
    let next = storage.after_power_cut(Survival::Synced);
    assert!(loaded(&durable(&next, root), 1).is_some());
}
