use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::storage::directories::create_parents_of;
use crate::storage::{FaultyStorage, MemoryStorage, Operation};

const ONE: Size = Size { entries: 1, bytes: 4096 };

fn empty() -> (MemoryStorage, Layout) {
    (MemoryStorage::new(), Layout::new(PathBuf::from("/store")))
}

fn add_file(storage: &MemoryStorage, layout: &Layout, directory: u8, name: &str, length: usize) {
    let path = layout.entries(directory).join(name);
    create_parents_of(storage, layout, &path).unwrap();
    let file = storage.create_file(&path).unwrap();
    write_full(&*file, &vec![0; length], 0).unwrap();
}

#[test]
fn changes_add_up_across_openings() {
    let (storage, layout) = empty();
    let record = |changes: &[(u8, Change)]| record(&storage, &layout, changes).unwrap().unwrap();
    for _ in 0..DIRECTORIES {
        record(&[]);
    }
    assert_eq!(record(&[(0, Change::Added(ONE)), (255, Change::Added(ONE))]).sum().entries, 2);
    let totals = record(&[(255, Change::Added(Size { entries: 1, bytes: 8192 }))]);
    assert_eq!(totals.sum(), Size { entries: 3, bytes: 16_384 });
    assert_eq!(totals.filled(), [0, 255], "the fullest last");
    let totals = record(&[(0, Change::Removed(ONE)), (0, Change::Removed(ONE))]);
    assert_eq!(totals.sum(), Size { entries: 2, bytes: 12_288 }, "nothing falls below zero");
    let counted = Change::Counted { before: None, found: ONE };
    assert_eq!(record(&[(255, counted)]).sum(), ONE);
}

#[test]
fn a_store_whose_file_is_lost_or_damaged_knows_itself_again_bit_by_bit() {
    let (storage, layout) = empty();
    for directory in [0, 7, 255] {
        add_file(&storage, &layout, directory, "small", 1);
        add_file(&storage, &layout, directory, "large", 5000);
    }
    let all = Size { entries: 6, bytes: 3 * 3 * 4096 };
    for damage in [None, Some(vec![]), Some(vec![0xFF; 100]), Some(vec![b'x'; FILE + 50])] {
        let _ = storage.remove_file(&layout.totals());
        if let Some(bytes) = &damage {
            let file = storage.open_or_create_file(&layout.totals()).unwrap();
            write_full(&*file, bytes, 0).unwrap();
        }
        let first = record(&storage, &layout, &[(7, Change::Added(ONE))]).unwrap().unwrap();
        let directory = Size { entries: 2, bytes: 3 * 4096 };
        assert_eq!(first.0[7], Some(directory.into()), "the directory itself, with what was added");
        assert_eq!(first.unknown().count(), DIRECTORIES - 2, "and another one");
        let mut last = first;
        for _ in 0..DIRECTORIES {
            last = record(&storage, &layout, &[]).unwrap().unwrap();
        }
        assert_eq!(last.sum(), all, "{damage:?}");
    }
}

#[test]
fn a_lock_that_is_not_to_be_had_changes_nothing() {
    let (storage, layout) = empty();
    record(&storage, &layout, &[]).unwrap().unwrap();
    let holder = storage.open_or_create_file(&layout.totals()).unwrap();
    assert!(holder.try_lock().unwrap());
    assert_eq!(record(&storage, &layout, &[(0, Change::Added(ONE))]).unwrap(), None);
    drop(holder);
    assert_eq!(record(&storage, &layout, &[]).unwrap().unwrap().sum(), Size::default());
}

#[test]
fn without_locks_it_goes_on() {
    let (memory, layout) = empty();
    let storage = FaultyStorage::new(Arc::new(memory), |operation| {
        (operation == Operation::TryLock).then(|| io::ErrorKind::Unsupported.into())
    });
    let counted = Change::Counted { before: None, found: ONE };
    record(&storage, &layout, &[(0, counted)]).unwrap().unwrap();
    assert_eq!(record(&storage, &layout, &[]).unwrap().unwrap().sum(), ONE);
}

#[test]
fn a_record_costs_the_same_however_much_the_store_holds() {
    let (storage, layout) = empty();
    for _ in 0..DIRECTORIES {
        record(&storage, &layout, &[]).unwrap();
    }
    let operations = |number: u8| {
        let before = storage.operations();
        record(&storage, &layout, &[(number, Change::Added(ONE))]).unwrap();
        storage.operations() - before
    };
    let empty = operations(3);
    for name in 0..500 {
        add_file(&storage, &layout, 3, &name.to_string(), 1);
    }
    assert_eq!(operations(3), empty);
}

#[test]
fn a_directory_that_is_counted_keeps_what_others_recorded_meanwhile() {
    let (storage, layout) = empty();
    let record = |changes: &[(u8, Change)]| record(&storage, &layout, changes).unwrap().unwrap();
    record(&[(9, Change::Added(ONE))]);
    record(&[(9, Change::Added(ONE))]);
    let before = known(&storage, &layout, 9);
    assert_eq!(before, Some(ONE.into()), "it was counted when it was empty");
    record(&[(9, Change::Added(ONE))]);
    let found = Size { entries: 7, bytes: 7 * 4096 };
    let totals = record(&[(9, Change::Counted { before, found })]);
    assert_eq!(totals.0[9], Some(sum_of([found, ONE]).into()));
}

#[test]
fn a_directory_that_cannot_be_listed_stays_unknown_and_harms_no_other() {
    let (memory, layout) = empty();
    let storage = FaultyStorage::new(Arc::new(memory), |operation| {
        (operation == Operation::List).then(|| io::Error::from_raw_os_error(13))
    });
    let totals = record(&storage, &layout, &[(1, Change::Added(ONE))]).unwrap().unwrap();
    assert_eq!(totals.unknown().count(), DIRECTORIES);
}

#[test]
fn a_removal_that_is_recorded_before_the_writing_is_not_lost() {
    let (storage, layout) = empty();
    let record = |changes: &[(u8, Change)]| record(&storage, &layout, changes).unwrap().unwrap();
    for _ in 0..DIRECTORIES {
        record(&[]);
    }
    assert_eq!(record(&[(3, Change::Removed(ONE))]).sum(), Size::default());
    assert_eq!(record(&[(3, Change::Added(ONE))]).sum(), Size::default());
}
