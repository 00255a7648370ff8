//! The process dies, or the power is cut, within every single operation.

use std::path::Path;
use std::sync::Arc;

use ptx_disk::storage::{MemoryStorage, Survival};
use ptx_disk::{Compression, Config, DiskStore, Durability, Store as _};

use crate::fixture::{Details as _, Write, config, entry, imported, key, loaded};

fn open(storage: &MemoryStorage, durability: Durability) -> DiskStore {
    let (config, _) = config(Path::new("/store"));
    DiskStore::open_on(Arc::new(storage.clone()), Config { durability, ..config }).unwrap()
}

/// A life of a store: entries written, one in the place of a damaged file and one in the place of
/// an imported entry, all stored smaller, a claim held throughout.
/// Which entries it was told are published.
fn live(storage: &MemoryStorage, durability: Durability) -> Vec<u32> {
    let store = open(storage, durability);
    let _claim = store.claim(&key(9));
    let mut published = Vec::new();
    for number in [1, 2, 3] {
        if matches!(store.write(&key(number), &entry(number)), Write::Published) {
            published.push(number);
        }
    }
    let _ = store.read(&key(3));
    let _ = store.write(&key(OVER_IMPORTED), &entry(OVER_IMPORTED));
    let _ = store.recompress(Compression::Zstd { level: 9 });
    published
}

/// The key of an imported entry, over which a local one is written.
const OVER_IMPORTED: u32 = 4;

/// One of the two is there, whole.
fn imported_or_local(store: &DiskStore, when: &str) {
    let found = store.read(&key(OVER_IMPORTED)).hit();
    let found = found.unwrap_or_else(|| panic!("{when}: both are gone")).payload;
    assert!(found == imported().payload || found == entry(OVER_IMPORTED).payload, "{when}");
}

/// A file system on which the entry of key 3 is damaged and another one is imported.
fn prepared() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = open(&storage, Durability::Full);
    let _ = store.write(&key(3), &entry(3));
    let _ = store.write(&key(OVER_IMPORTED), &imported());
    let path = crate::fixture::path_of(Path::new("/store"), 3);
    let file = ptx_disk::storage::Storage::open_or_create_file(&storage, &path).unwrap();
    file.write_at(b"damage", 200).unwrap();
    file.sync(true).unwrap();
    storage
}

/// What the next process finds is nothing or a whole entry, and it can go on from there.
fn goes_on(storage: &MemoryStorage, durability: Durability, when: &str) {
    let store = open(storage, durability);
    for number in [1, 2, 3, 9] {
        let before = loaded(&store, number);
        assert!(
            matches!(
                store.claim(&key(number)),
                Ok(ptx_disk::Claim::Held(_) | ptx_disk::Claim::Published(_))
            ),
            "{when}"
        );
        if before.is_none() {
            let stored = store.write(&key(number), &entry(number));
            assert!(matches!(stored, Write::Published), "{when}: {number} gave {stored:?}");
        }
        assert!(loaded(&store, number).is_some(), "{when}: {number} cannot be written again");
    }
}

#[test]
fn a_process_killed_within_any_operation_leaves_nothing_or_the_whole_entry() {
    for dies_after in 0.. {
        let storage = prepared();
        storage.stop_after(dies_after);
        let published = live(&storage, Durability::None);
        let next = storage.after_kill();
        assert_eq!(next.locked_files(), 0);
        let store = open(&next, Durability::None);
        for number in &published {
            assert!(loaded(&store, *number).is_some(), "killed after {dies_after}");
        }
        imported_or_local(&store, &format!("killed after {dies_after}"));
        goes_on(&next, Durability::None, &format!("killed after {dies_after}"));
        let leftovers = next.files().keys().filter(|path| path.starts_with("/store/tmp")).count();
        assert!(leftovers <= 1, "a process leaves at most the file that it was writing");
        if !storage.stopped() {
            return;
        }
    }
}

#[test]
fn a_power_cut_within_any_operation_leaves_nothing_or_the_whole_entry() {
    let survivals = [Survival::Synced, Survival::Names, Survival::NamesAndLengths];
    for durability in [Durability::None, Durability::Data, Durability::Full] {
        for stops_after in 0.. {
            let storage = prepared();
            storage.stop_after(stops_after);
            let published = live(&storage, durability);
            let coins = (0..4).map(|seed| Survival::Some(stops_after * 4 + seed));
            for survival in survivals.into_iter().chain(coins) {
                let when = format!("{durability:?}, cut after {stops_after}, {survival:?}");
                let next = storage.after_power_cut(survival);
                if durability == Durability::Full {
                    let store = open(&next, durability);
                    for number in &published {
                        assert!(loaded(&store, *number).is_some(), "{when}: {number} was lost");
                    }
                    imported_or_local(&store, &when);
                }
                goes_on(&next, durability, &when);
            }
            if !storage.stopped() {
                break;
            }
        }
    }
}

#[test]
fn synced_data_never_leaves_a_name_without_its_bytes() {
    for stops_after in 0.. {
        let storage = MemoryStorage::new();
        storage.stop_after(stops_after);
        let store = open(&storage, Durability::Data);
        let _ = store.write(&key(1), &entry(1));
        let next = open(&storage.after_power_cut(Survival::Names), Durability::Data);
        let _ = loaded(&next, 1);
        assert_eq!(next.statistics().quarantined, 0, "cut after {stops_after}");
        if !storage.stopped() {
            return;
        }
    }
}
