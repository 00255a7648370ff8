//! Whatever the disk says, a request is served: every operation of the store fails, in turn, with
//! everything that a system says.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ptx_cache::{Artifact, PtxCache, Size, Store, WritePolicy};
use ptx_disk::storage::{FaultyStorage, MemoryStorage, Operation, Storage};
use ptx_disk::{Config, DiskStore, Times};
use ptx_key::{Digest, PtxKey};

const EINTR: i32 = 4;
/// ENOSPC, EIO, EACCES, EROFS, EMFILE, EINTR, ESTALE, EDQUOT, EBUSY and ENOLCK on Linux.
const ERRNOS: [i32; 10] = [28, 5, 13, 30, 24, EINTR, 116, 122, 16, 37];

const KEYS: u32 = 4;

fn key(number: u32) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn text(number: u32) -> Arc<str> {
    format!("// kernel {number}\n").repeat(20).into()
}

fn config() -> Config {
    Config {
        // Full from the start, so that publishing trims.
        budget: Size { entries: 2, bytes: 4 << 30 },
        times: Times {
            first_pause: Duration::ZERO,
            lease: Duration::from_millis(20),
            ..Times::STANDARD
        },
        on_warning: Some(Arc::new(|_| {})),
        ..Config::new("/store")
    }
}

/// A store with one whole and one damaged entry.
fn prepared() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = DiskStore::open_on(Arc::new(storage.clone()), config()).unwrap();
    for number in [0, 1] {
        let _ = store
            .store(&key(number), &Artifact::from(text(number)).with_cost(Duration::from_millis(9)));
    }
    let damaged = format!("/store/entries-1/{:.2}/{}.ptx-entry", key(1), key(1));
    let file = storage.open_or_create_file(Path::new(&damaged)).unwrap();
    file.write_at(b"damage", 200).unwrap();
    storage
}

/// Requests for every key, twice, by caches of their own, so that memory answers none.
fn requests_are_served(storage: &FaultyStorage, what: &str) {
    for _ in 0..2 {
        let disk = match DiskStore::open_on(Arc::new(storage.clone()), config()) {
            Ok(disk) => disk,
            // What stands in the way at the store's own place is the one thing that is reported.
            Err(error) => panic!("{what}: {error}"),
        };
        let cache = PtxCache::with_tiers(
            ptx_cache::Config::default(),
            vec![Arc::new(disk)],
            WritePolicy::Ignore,
        );
        for number in 0..KEYS {
            let served =
                cache.get_or_lower(&key(number), || Ok::<_, std::fmt::Error>(text(number)));
            assert_eq!(served.unwrap().payload, text(number), "{what}");
        }
    }
}

#[test]
fn an_operation_that_always_fails_fails_no_request() {
    for operation in Operation::ALL {
        // A system that interrupts every attempt for ever is none.
        for errno in ERRNOS.into_iter().filter(|errno| *errno != EINTR) {
            let faulty = FaultyStorage::new(Arc::new(prepared()), move |asked| {
                (asked == operation).then(|| io::Error::from_raw_os_error(errno))
            });
            requests_are_served(&faulty, &format!("{operation:?} fails with {errno}"));
        }
    }
}

#[test]
fn each_single_call_that_fails_fails_no_request() {
    for errno in ERRNOS {
        for failing in 0.. {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let faulty = FaultyStorage::new(Arc::new(prepared()), move |_| {
                let fails = counted.fetch_add(1, Ordering::Relaxed) == failing;
                fails.then(|| io::Error::from_raw_os_error(errno))
            });
            requests_are_served(&faulty, &format!("call {failing} fails with {errno}"));
            if calls.load(Ordering::Relaxed) <= failing {
                assert!(failing > 100, "a few requests make only {failing} calls");
                break;
            }
        }
    }
}

#[test]
fn short_and_interrupted_transfers_fail_no_request() {
    for longest in [1, 7, 100] {
        let calls = AtomicU64::new(0);
        let faulty = FaultyStorage::new(Arc::new(prepared()), move |operation| {
            let transfers = matches!(operation, Operation::ReadAt | Operation::WriteAt);
            let interrupted = transfers && calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
            interrupted.then(|| io::Error::from_raw_os_error(EINTR))
        });
        requests_are_served(&faulty.with_short_transfers(longest), &format!("{longest} a call"));
    }
}
