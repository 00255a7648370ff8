use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::storage::{FaultyStorage, MemoryStorage, Operation};
use ptx_store::Kind;

fn key(byte: u8) -> EntryKey {
    EntryKey::from_bytes(Kind::Ptx, [byte; 32])
}

fn held(attempt: &io::Result<Attempt>) -> bool {
    matches!(attempt, Ok(Attempt::Held(_)))
}

#[test]
fn one_holder_a_key_and_the_next_when_it_is_gone() {
    let (storage, layout) = (MemoryStorage::new(), Layout::new(PathBuf::from("/store")));
    let first = try_claim(&storage, &layout, &key(1));
    assert!(held(&first));
    assert!(matches!(try_claim(&storage, &layout, &key(1)), Ok(Attempt::Busy)));
    assert!(held(&try_claim(&storage, &layout, &key(2))), "another key is free");
    drop(first);
    assert!(held(&try_claim(&storage, &layout, &key(1))));
    assert_eq!(storage.files().len(), 2, "the files stay");
    assert_eq!(storage.locked_files(), 0);
}

/// The sweep may remove the file between its opening and its locking.
#[test]
fn a_lock_on_a_file_that_is_gone_is_no_claim() {
    lock_while_the_sweep_runs(false);
    lock_while_the_sweep_runs(true);
}

fn lock_while_the_sweep_runs(another_created_it_again: bool) {
    let memory = MemoryStorage::new();
    let layout = Layout::new(PathBuf::from("/store"));
    let (swept, path) = (AtomicBool::new(false), layout.claim(&key(1)));
    let sweeper = memory.clone();
    let storage = FaultyStorage::new(Arc::new(memory.clone()), move |operation| {
        if operation == Operation::TryLock && !swept.swap(true, Ordering::Relaxed) {
            sweeper.remove_file(&path).unwrap();
            if another_created_it_again {
                sweeper.create_file(&path).unwrap();
            }
        }
        None
    });
    let claim = try_claim(&storage, &layout, &key(1));
    assert!(held(&claim));
    assert!(matches!(try_claim(&memory, &layout, &key(1)), Ok(Attempt::Busy)));
}

#[test]
fn without_locks_there_is_an_error_that_says_so() {
    let storage = FaultyStorage::new(Arc::new(MemoryStorage::new()), |operation| {
        (operation == Operation::TryLock).then(|| io::ErrorKind::Unsupported.into())
    });
    let claim = try_claim(&storage, &Layout::new(PathBuf::from("/store")), &key(1));
    assert_eq!(claim.err().map(|error| error.kind()), Some(io::ErrorKind::Unsupported));
}

#[test]
fn waits_grow_to_their_longest_and_never_beyond() {
    let mut waits = Waits::new();
    let waits: Vec<Duration> = (0..50).map(|_| waits.next()).collect();
    assert!(waits.iter().all(|wait| *wait <= LONGEST_WAIT * 5 / 4));
    assert!(waits[0] < SHORTEST_WAIT * 2 && waits[49] > LONGEST_WAIT / 2);
}
