use std::path::PathBuf;

use super::*;
use crate::claim::lock::{Attempt, try_claim};
use crate::storage::MemoryStorage;
use crate::storage::directories::create_parents_of;
use ptx_store::{EntryKey, Kind};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn empty() -> (MemoryStorage, Layout) {
    (MemoryStorage::new(), Layout::new(PathBuf::from("/store")))
}

fn age(storage: &MemoryStorage, path: &Path, by: Duration) {
    let file = storage.open_or_create_file(path).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

#[test]
fn old_temporary_files_are_removed_and_young_ones_stay() {
    let (storage, layout) = empty();
    let now = SystemTime::now();
    assert_eq!(
        sweep_temporary(&storage, &layout, DAY, now).unwrap(),
        0,
        "there is no directory yet"
    );
    let (old, young) = (layout.new_temporary(), layout.new_temporary());
    create_parents_of(&storage, &layout, &old).unwrap();
    age(&storage, &old, DAY * 2);
    age(&storage, &young, DAY / 2);
    age(&storage, &layout.temporary().join("from-the-future"), Duration::ZERO);
    storage.create_directory(&layout.temporary().join("directory")).unwrap();
    assert_eq!(sweep_temporary(&storage, &layout, DAY, now - DAY / 4).unwrap(), 1);
    assert!(!storage.files().contains_key(&old));
    assert!(storage.files().contains_key(&young));
}

#[test]
fn a_file_that_a_wrong_clock_put_into_the_future_grows_old_from_now_on() {
    let (storage, layout) = empty();
    let path = layout.new_temporary();
    create_parents_of(&storage, &layout, &path).unwrap();
    let (now, file) = (SystemTime::now(), storage.create_file(&path).unwrap());
    file.set_modified(now + DAY * 3650).unwrap();
    assert_eq!(sweep_temporary(&storage, &layout, DAY, now).unwrap(), 0);
    assert_eq!(sweep_temporary(&storage, &layout, DAY, now + DAY).unwrap(), 1);
}

#[test]
fn a_claim_that_is_held_is_not_swept_however_old() {
    let (storage, layout) = empty();
    let key = EntryKey::from_bytes(Kind::Ptx, [3; 32]);
    let Attempt::Held(guard) = try_claim(&storage, &layout, &key).unwrap() else {
        panic!("nobody else has it")
    };
    age(&storage, &layout.claim(&key), DAY * 9);
    let sweep = |first_byte| sweep_claims(&storage, &layout, first_byte, DAY, SystemTime::now());
    assert_eq!(sweep(3).unwrap(), 0);
    drop(guard);
    assert_eq!(sweep(4).unwrap(), 0, "another directory");
    assert_eq!(sweep(3).unwrap(), 1);
    assert!(storage.files().is_empty());
}
