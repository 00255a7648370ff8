//! Every operation of the storage fails, in turn, with everything that a system says.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation};
use ptx_disk::{Claim, Compression, DiskStore, Store as _};

use crate::fixture::{Details as _, Write, config, entry, imported, key, loaded, path_of};

/// ENOSPC, EIO, EACCES, EPERM, EROFS, EMFILE, ENFILE, EINTR, ESTALE, EBUSY, EDQUOT, EAGAIN,
/// ELOOP, ENOTDIR, ENOENT, EEXIST, EISDIR, ENAMETOOLONG, ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL,
/// ETIMEDOUT, EFBIG and EXDEV on Linux.
const ERRNOS: [i32; 25] = [
    28, 5, 13, 1, 30, 24, 23, 4, 116, 16, 122, 11, 40, 20, 2, 17, 21, 36, 37, 38, 95, 22, 110, 27,
    18,
];

/// A store with one whole, one damaged and one imported entry.
fn prepared() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = crate::fixture::store_on(storage.clone());
    for number in [1, 2] {
        let _ = store.write(&key(number), &entry(number));
    }
    let imported = imported();
    let _ = store.write(&key(4), &imported);
    let damaged = path_of(Path::new("/store"), 2);
    let file = ptx_disk::storage::Storage::open_or_create_file(&storage, &damaged).unwrap();
    file.write_at(b"damage", 200).unwrap();
    storage
}

/// Everything that a caller does. None of it may panic, hang or give wrong text.
fn use_everything(store: &DiskStore) {
    for number in [1, 2, 3] {
        if loaded(store, number).is_none() {
            let claim = store.claim(&key(number));
            if !matches!(claim, Ok(Claim::Published(_))) {
                let _ = store.write(&key(number), &entry(number));
            }
        }
        let _ = loaded(store, number);
    }
    let _ = store.write(&key(1), &entry(1));
    let _ = store.write(&key(4), &entry(4));
    let _ = store.remove(&key(1));
}

/// What tools do. It looks into every directory, so it takes thousands of calls.
fn use_tools(store: &DiskStore) {
    let _ = store.recompress(Compression::Zstd { level: 9 });
    let _ = store.trim();
    let _ = store.verify();
    let _ = store.sweep();
}

fn open(storage: FaultyStorage) -> DiskStore {
    let (config, _) = config(Path::new("/store"));
    // What stands in the way at the store's own place is the one thing that is reported.
    DiskStore::open_on(Arc::new(storage), config.clone())
        .unwrap_or_else(|_| DiskStore::open_on(Arc::new(MemoryStorage::new()), config).unwrap())
}

#[test]
fn an_operation_that_always_fails() {
    for operation in Operation::ALL {
        for errno in ERRNOS {
            let memory = prepared();
            let faulty = FaultyStorage::new(Arc::new(memory.clone()), move |asked| {
                (asked == operation && errno != 4).then(|| io::Error::from_raw_os_error(errno))
            });
            let store = open(faulty);
            use_everything(&store);
            use_tools(&store);
            // Without the fault the store is as good as ever.
            let store = crate::fixture::store_on(memory);
            for number in [1, 2, 3] {
                if loaded(&store, number).is_none() {
                    let stored = store.write(&key(number), &entry(number));
                    assert!(
                        matches!(stored, Write::Published),
                        "{operation:?}, {errno}: {stored:?}"
                    );
                }
                assert!(loaded(&store, number).is_some());
            }
        }
    }
}

#[test]
fn each_single_call_fails_once() {
    for errno in ERRNOS {
        for failing in 0.. {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let faulty = FaultyStorage::new(Arc::new(prepared()), move |_| {
                let fails = counted.fetch_add(1, Ordering::Relaxed) == failing;
                fails.then(|| io::Error::from_raw_os_error(errno))
            });
            use_everything(&open(faulty));
            if calls.load(Ordering::Relaxed) <= failing {
                break;
            }
        }
    }
}

fn quarantined(memory: &MemoryStorage) -> usize {
    memory.files().keys().filter(|path| path.starts_with("/store/quarantine")).count()
}

#[test]
fn a_call_of_a_tool_that_fails_once_harms_no_entry() {
    for failing in (0..).step_by(11) {
        let (memory, calls) = (prepared(), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&calls);
        let faulty = FaultyStorage::new(Arc::new(memory.clone()), move |_| {
            let fails = counted.fetch_add(1, Ordering::Relaxed) == failing;
            fails.then(|| io::Error::from_raw_os_error(5))
        });
        use_tools(&open(faulty));
        let store = crate::fixture::store_on(memory.clone());
        let there = loaded(&store, 1).is_some();
        // A sector that cannot be read costs its entry, and sets it aside.
        assert!(there || quarantined(&memory) > 1, "call {failing}");
        if calls.load(Ordering::Relaxed) <= failing {
            break;
        }
    }
}

#[test]
fn short_and_interrupted_transfers_change_nothing() {
    let calls = AtomicU64::new(0);
    let faulty = FaultyStorage::new(Arc::new(prepared()), move |operation| {
        let transfers = matches!(operation, Operation::ReadAt | Operation::WriteAt);
        let interrupted = transfers && calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
        interrupted.then(|| io::ErrorKind::Interrupted.into())
    });
    let store = open(faulty.with_short_transfers(7));
    assert!(matches!(store.write(&key(3), &entry(3)), Write::Published));
    assert!(loaded(&store, 3).is_some() && loaded(&store, 1).is_some());
    let statistics = store.statistics();
    assert_eq!((statistics.read_failures, statistics.write_failures), (0, 0));
}

#[test]
fn a_bad_sector_costs_its_entry_and_nothing_else() {
    let memory = prepared();
    let fails = Arc::new(AtomicU64::new(1));
    let left = Arc::clone(&fails);
    let faulty = FaultyStorage::new(Arc::new(memory), move |operation| {
        let bad = operation == Operation::ReadAt && left.swap(0, Ordering::Relaxed) == 1;
        bad.then(|| io::Error::from_raw_os_error(5))
    });
    let store = open(faulty);
    assert!(loaded(&store, 1).is_none());
    assert!(
        matches!(store.write(&key(1), &entry(1)), Write::Published),
        "quarantined, so it is new"
    );
    assert!(loaded(&store, 1).is_some());
    assert_eq!(store.statistics().degraded, 0);
}
