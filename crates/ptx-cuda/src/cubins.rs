//! The tier of machine code beneath a cache of modules: what is asked of its store, and what is
//! counted. Nothing that the store does fails a load.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ptx_cache::{Claim, CubinStore, StoreError, StoredCubin};
use ptx_key::ModuleKey;

use crate::cubin_writer::CubinWriter;

/// What a cache of modules did with machine code. Times are sums over the threads that loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CubinSnapshot {
    /// Modules that were loaded from a stored cubin.
    pub hits: u64,
    /// What these took: reading the store, and the driver's load.
    pub hit_time: Duration,
    /// Texts that were assembled.
    pub assembled: u64,
    /// What these took: the assembly, and the driver's load of what it made.
    pub assembly_time: Duration,
    /// Modules that were loaded as they were given: a caller's own cubin, and text that the driver
    /// assembled within its load, since no cubin could be made.
    pub given: u64,
    /// What these took.
    pub given_time: Duration,
    /// Stored or newly assembled cubins that the driver refused.
    pub refused: u64,
    /// Texts of an instruction set that the driver does not know, which were loaded all the same:
    /// assembled offline, or lowered again.
    pub rescued: u64,
    /// Cubins that were given to the store without a failure; one that is off or read-only passes
    /// over them.
    pub written: u64,
    /// Requests to the store that failed.
    pub store_failures: u64,
}

/// One count, with the time that went into it.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Timed {
    // Relaxed: counts that publish nothing else.
    pub(crate) fn add(&self, took: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.nanos.store(0, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, Duration) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_nanos(nanos))
    }
}

/// What is counted of one cache's loads.
#[derive(Debug, Default)]
pub(crate) struct LoadCounts {
    pub(crate) hits: Timed,
    pub(crate) assembled: Timed,
    pub(crate) given: Timed,
    pub(crate) refused: AtomicU64,
    pub(crate) rescued: AtomicU64,
    written: AtomicU64,
    store_failures: AtomicU64,
    warned: AtomicBool,
}

impl LoadCounts {
    pub(crate) fn snapshot(&self) -> CubinSnapshot {
        let ((hits, hit_time), (assembled, assembly_time), (given, given_time)) =
            (self.hits.get(), self.assembled.get(), self.given.get());
        CubinSnapshot {
            hits,
            hit_time,
            assembled,
            assembly_time,
            given,
            given_time,
            refused: self.refused.load(Ordering::Relaxed),
            rescued: self.rescued.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            store_failures: self.store_failures.load(Ordering::Relaxed),
        }
    }

    /// Sets all counts to zero.
    pub(crate) fn clear(&self) {
        let Self { hits, assembled, given, refused, rescued, written, store_failures, warned: _ } =
            self;
        for timed in [hits, assembled, given] {
            timed.clear();
        }
        for count in [refused, rescued, written, store_failures] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Warns once of all that may go wrong with a store.
    pub(crate) fn warn(&self, what: impl fmt::Display) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("modules are loaded without the store of cubins: {what}");
        }
    }
}

/// A store of cubins, as loads use it.
pub(crate) struct Cubins {
    shared: Arc<Keeper>,
    writer: CubinWriter,
}

/// What the thread that writes shares with those that load.
pub(crate) struct Keeper {
    store: Arc<dyn CubinStore>,
    counts: Arc<LoadCounts>,
}

impl Keeper {
    /// Writes a cubin to the store.
    pub(crate) fn write(&self, key: &ModuleKey, cubin: &StoredCubin) {
        if self.ask(|store| store.store(key, cubin)).is_some() {
            self.counts.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the store answers; `None` where it fails.
    fn ask<T>(&self, question: impl FnOnce(&dyn CubinStore) -> Result<T, StoreError>) -> Option<T> {
        // A store is its author's: the thread that writes goes on to the next cubin, and a thread
        // that loads to its module. Nothing of this crate is changed half.
        let answer = catch_unwind(AssertUnwindSafe(|| question(&*self.store)));
        let answer = answer.unwrap_or_else(|_| Err("it panicked".into()));
        let warn = |error: &StoreError| {
            self.counts.store_failures.fetch_add(1, Ordering::Relaxed);
            self.counts.warn(format_args!("{}: {error}", self.store.name()));
        };
        answer.inspect_err(warn).ok()
    }
}

impl Cubins {
    pub(crate) fn new(store: Arc<dyn CubinStore>, counts: Arc<LoadCounts>) -> Self {
        let shared = Arc::new(Keeper { store, counts });
        Self { writer: CubinWriter::new(Arc::clone(&shared)), shared }
    }

    /// The stored cubin of `key`.
    pub(crate) fn find(&self, key: &ModuleKey) -> Option<StoredCubin> {
        self.shared.ask(|store| store.load(key)).flatten()
    }

    /// The claim on `key`, where one can be had.
    ///
    /// # Errors
    ///
    /// The cubin, if another process published it in the meantime.
    pub(crate) fn claim(&self, key: &ModuleKey) -> Result<Option<Box<dyn Send>>, StoredCubin> {
        match self.shared.ask(|store| store.claim(key)) {
            Some(Claim::Held(claim)) => Ok(Some(claim)),
            Some(Claim::Published(cubin)) => Err(cubin),
            Some(Claim::Unheld) | None => Ok(None),
        }
    }

    /// Takes out a cubin that the driver refused.
    pub(crate) fn remove_refused(&self, key: &ModuleKey, image: &[u8]) {
        let _ = self.shared.ask(|store| store.remove_refused(key, image));
    }

    /// Has a cubin written behind the caller's back, and the claim on it kept until then.
    pub(crate) fn keep(&self, key: ModuleKey, cubin: StoredCubin, claim: Option<Box<dyn Send>>) {
        self.writer.write(key, cubin, claim);
    }

    /// Whether the store keeps what it is given.
    pub(crate) fn is_writable(&self) -> bool {
        self.shared.ask(|store| Ok(store.is_writable())).unwrap_or(false)
    }

    /// Waits until all that was to be kept is written.
    pub(crate) fn flush(&self) {
        self.writer.flush();
    }
}
