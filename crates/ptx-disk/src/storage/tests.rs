use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

fn write(storage: &dyn Storage, path: &str, bytes: &[u8], synced: bool) {
    let file = storage.create_file(Path::new(path)).unwrap();
    write_full(&*file, bytes, 0).unwrap();
    if synced {
        file.sync(true).unwrap();
    }
}

fn read(storage: &dyn Storage, path: &str) -> Option<Vec<u8>> {
    let file = storage.open_file(Path::new(path)).ok()?;
    let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().length).unwrap()];
    assert_eq!(read_full(&*file, &mut bytes, 0).unwrap(), bytes.len());
    Some(bytes)
}

/// The same promises, kept by the real file system and by the one in memory.
fn keeps_the_contract(storage: &dyn Storage, root: &Path) {
    let at = |name: &str| root.join(name);
    storage.create_directory(&at("directory")).unwrap();
    assert_eq!(
        storage.create_directory(&at("directory")).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    assert_eq!(storage.create_directory(&at("a/b")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(storage.open_file(&at("none")).err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(storage.metadata(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);

    let file = storage.create_file(&at("one")).unwrap();
    write_full(&*file, b"0123456789", 0).unwrap();
    write_full(&*file, b"ab", 4).unwrap();
    assert_eq!(storage.create_file(&at("one")).err().unwrap().kind(), ErrorKind::AlreadyExists);
    let opened = storage.open_file(&at("one")).unwrap();
    let mut buffer = [0; 32];
    assert_eq!(read_full(&*opened, &mut buffer, 2).unwrap(), 8);
    assert_eq!(&buffer[..8], b"23ab6789");
    assert_eq!(read_full(&*opened, &mut buffer, 99).unwrap(), 0);

    let by_name = storage.metadata(&at("one")).unwrap();
    assert_eq!((by_name.kind, by_name.length), (FileKind::File, 10));
    assert!(by_name.access.mine && !by_name.access.writable_by_all);
    assert_eq!(opened.metadata().unwrap().identity, by_name.identity);
    assert_eq!(storage.metadata(&at("directory")).unwrap().kind, FileKind::Directory);

    drop(storage.create_file(&at("two")).unwrap());
    let taken = storage.rename_new(&at("two"), &at("one")).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    storage.rename_new(&at("two"), &at("directory/three")).unwrap();
    storage.rename(&at("directory/three"), &at("one")).unwrap();
    assert_ne!(storage.metadata(&at("one")).unwrap().identity, by_name.identity);
    assert_eq!(read_full(&*opened, &mut buffer, 0).unwrap(), 10, "an open file goes on");
    assert_eq!(storage.rename(&at("none"), &at("x")).unwrap_err().kind(), ErrorKind::NotFound);
    let lost = storage.rename_new(&at("one"), &at("none/x")).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::NotFound);

    drop(storage.create_file(&at("two")).unwrap());
    let (one, two) = (storage.metadata(&at("one")).unwrap(), storage.metadata(&at("two")).unwrap());
    storage.exchange(&at("one"), &at("two")).unwrap();
    assert_eq!(storage.metadata(&at("one")).unwrap().identity, two.identity);
    assert_eq!(storage.metadata(&at("two")).unwrap().identity, one.identity);
    let missing = storage.exchange(&at("one"), &at("none")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    storage.remove_file(&at("two")).unwrap();

    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let lock = storage.open_or_create_file(&at("lock")).unwrap();
    lock.set_modified(long_ago).unwrap();
    assert_eq!(storage.metadata(&at("lock")).unwrap().modified, long_ago);
    let other = storage.open_or_create_file(&at("lock")).unwrap();
    assert!(lock.try_lock().unwrap());
    assert!(!other.try_lock().unwrap(), "an opening of its own is locked out, also in one thread");
    drop(lock);
    assert!(other.try_lock().unwrap());

    let mut names = storage.list(root).unwrap();
    names.sort();
    assert_eq!(names, ["directory", "lock", "one"]);
    storage.sync_directory(root).unwrap();
    storage.remove_file(&at("one")).unwrap();
    assert_eq!(storage.remove_file(&at("one")).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(storage.file_system(root).unwrap().available > 0);
}

#[test]
fn the_machine_keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    keeps_the_contract(&OsStorage::new(), directory.path());
}

#[test]
fn memory_keeps_the_contract() {
    keeps_the_contract(&MemoryStorage::new(), Path::new("/"));
}

#[test]
fn a_storage_without_faults_keeps_the_contract_however_short_its_transfers() {
    let inner = Arc::new(MemoryStorage::new());
    let storage = FaultyStorage::new(inner, |_| None).with_short_transfers(1);
    keeps_the_contract(&storage, Path::new("/"));
}

#[test]
fn a_power_cut_takes_what_was_not_synced() {
    let storage = MemoryStorage::new();
    write(&storage, "/kept", b"kept", true);
    storage.sync_directory(Path::new("/")).unwrap();
    write(&storage, "/new", b"new", false);
    let after = |survival| read(&storage.after_power_cut(survival), "/new");
    assert_eq!(after(Survival::Synced), None);
    assert_eq!(after(Survival::Names), Some(vec![]));
    assert_eq!(after(Survival::NamesAndLengths), Some(vec![0; 3]));
    assert_eq!(after(Survival::Everything), Some(b"new".to_vec()));
    for seed in 0..50 {
        let cut = storage.after_power_cut(Survival::Some(seed));
        assert_eq!(read(&cut, "/kept"), Some(b"kept".to_vec()));
    }
}

#[test]
fn a_name_does_not_outlive_the_directory_that_was_not_synced() {
    let storage = MemoryStorage::new();
    storage.create_directory(Path::new("/directory")).unwrap();
    write(&storage, "/directory/file", b"text", true);
    storage.sync_directory(Path::new("/directory")).unwrap();
    assert_eq!(read(&storage.after_power_cut(Survival::Synced), "/directory/file"), None);
    storage.sync_directory(Path::new("/")).unwrap();
    assert!(read(&storage.after_power_cut(Survival::Synced), "/directory/file").is_some());
}

#[test]
fn a_killed_process_leaves_half_a_write_and_no_lock() {
    let storage = MemoryStorage::new();
    let file = storage.create_file(Path::new("/file")).unwrap();
    assert!(file.try_lock().unwrap());
    storage.stop_after(0);
    assert!(write_full(&*file, b"12345678", 0).is_err());
    assert!(storage.metadata(Path::new("/file")).is_err(), "the dead do nothing more");
    let next = storage.after_kill();
    assert_eq!(read(&next, "/file"), Some(b"1234".to_vec()));
    assert_eq!(next.locked_files(), 0);
}

#[test]
fn interruptions_are_tried_again() {
    let calls = AtomicU64::new(0);
    let every_other = move |operation| {
        let transfers = matches!(operation, Operation::ReadAt | Operation::WriteAt);
        let interrupted = transfers && calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        interrupted.then(|| ErrorKind::Interrupted.into())
    };
    let storage = FaultyStorage::new(Arc::new(MemoryStorage::new()), every_other);
    let storage = storage.with_short_transfers(3);
    write(&storage, "/file", b"0123456789", false);
    assert_eq!(read(&storage, "/file"), Some(b"0123456789".to_vec()));
}
