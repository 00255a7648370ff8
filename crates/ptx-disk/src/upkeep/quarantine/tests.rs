use std::path::PathBuf;

use super::*;
use crate::storage::directories::create_parents_of;
use crate::storage::{MemoryStorage, write_full};

fn with_file(bytes: &[u8]) -> (MemoryStorage, Layout, PathBuf, Metadata) {
    let storage = MemoryStorage::new();
    let layout = Layout::new(PathBuf::from("/store"));
    let path = layout.root().join("file");
    create_parents_of(&storage, &layout, &path).unwrap();
    let damaged = write(&storage, &path, bytes);
    (storage, layout, path, damaged)
}

fn write(storage: &MemoryStorage, path: &Path, bytes: &[u8]) -> Metadata {
    let file = storage.create_file(path).unwrap();
    write_full(&*file, bytes, 0).unwrap();
    file.metadata().unwrap()
}

#[test]
fn a_damaged_file_is_moved_with_its_bytes() {
    let (storage, layout, path, damaged) = with_file(b"damaged");
    assert!(quarantine(&storage, &layout, &path, &damaged).unwrap());
    let files = storage.files();
    assert_eq!(files.len(), 1);
    let (place, bytes) = files.first_key_value().unwrap();
    assert!(place.starts_with("/store/quarantine"));
    assert_eq!(bytes, b"damaged");
    assert!(!quarantine(&storage, &layout, &path, &damaged).unwrap(), "it is gone");
}

#[test]
fn a_file_written_in_the_meantime_stays() {
    let (storage, layout, path, damaged) = with_file(b"damaged");
    storage.remove_file(&path).unwrap();
    write(&storage, &path, b"good");
    assert!(!quarantine(&storage, &layout, &path, &damaged).unwrap());
    assert_eq!(storage.files()[&path], b"good");
}

#[test]
fn a_file_moved_by_mistake_comes_back() {
    let (storage, layout, path, damaged) = with_file(b"damaged");
    storage.remove_file(&path).unwrap();
    write(&storage, &path, b"good");
    // What happens when the file is replaced between the look and the rename.
    let place = layout.quarantine(7);
    create_parents_of(&storage, &layout, &place).unwrap();
    storage.rename(&path, &place).unwrap();
    assert!(!stayed_the_same(&storage, &path, &place, &damaged));
    assert_eq!(storage.files()[&path], b"good");
}

#[test]
fn quarantine_is_bounded() {
    let (storage, layout, path, _) = with_file(b"first");
    storage.remove_file(&path).unwrap();
    for _ in 0..1000 {
        let damaged = write(&storage, &path, b"damaged");
        assert!(quarantine(&storage, &layout, &path, &damaged).unwrap());
    }
    let kept = storage.files().len();
    assert!(kept <= QUARANTINE_PLACES as usize, "{kept}");
}

#[test]
fn with_no_place_left_the_file_is_removed() {
    let (storage, layout, path, damaged) = with_file(b"damaged");
    for place in 0..QUARANTINE_PLACES {
        let place = layout.quarantine(place);
        create_parents_of(&storage, &layout, &place).unwrap();
        storage.create_directory(&place).unwrap();
    }
    assert!(quarantine(&storage, &layout, &path, &damaged).unwrap());
    assert!(storage.files().is_empty());
}

#[test]
fn a_good_file_that_got_the_number_of_the_damaged_one_stays() {
    let (storage, layout, path, damaged) = with_file(b"damaged");
    storage.remove_file(&path).unwrap();
    let good = write(&storage, &path, b"good");
    // As systems do when they give out the numbers of files again.
    let damaged = Metadata { identity: good.identity, ..damaged };
    assert!(!quarantine(&storage, &layout, &path, &damaged).unwrap());
    assert_eq!(storage.files()[&path], b"good");
}

#[test]
fn a_directory_takes_a_place_that_is_taken() {
    let (storage, layout, path, _) = with_file(b"damaged");
    for place in 0..QUARANTINE_PLACES {
        let place = layout.quarantine(place);
        create_parents_of(&storage, &layout, &place).unwrap();
        write(&storage, &place, b"damaged before");
    }
    storage.remove_file(&path).unwrap();
    storage.create_directory(&path).unwrap();
    write(&storage, &path.join("within"), b"in the way");
    let directory = storage.metadata(&path).unwrap();
    assert!(quarantine(&storage, &layout, &path, &directory).unwrap());
    assert!(storage.metadata(&path).is_err());
}
