//! The store of cubins below a cache of modules. No failure of the store fails a load.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptx_cache::{Claim, CubinStore, StoreError, StoredCubin};
use ptx_key::ModuleKey;

use super::counts::LoadCounts;

/// A store whose failures and panics are counted and answered as misses.
pub(crate) struct GuardedStore {
    store: Arc<dyn CubinStore>,
    counts: Arc<LoadCounts>,
}

impl GuardedStore {
    pub(crate) fn new(store: Arc<dyn CubinStore>, counts: Arc<LoadCounts>) -> Self {
        Self { store, counts }
    }

    /// The store's answer, or `None` where it fails.
    fn ask<T>(&self, question: impl FnOnce(&dyn CubinStore) -> Result<T, StoreError>) -> Option<T> {
        // A panic in the store leaves nothing of this crate half changed. The writing thread goes
        // on to the next cubin, and a loading thread to its module.
        let answer = catch_unwind(AssertUnwindSafe(|| question(&*self.store)));
        let answer = answer.unwrap_or_else(|_| Err("it panicked".into()));
        let warn = |error: &StoreError| {
            self.counts.store_failures.fetch_add(1, Ordering::Relaxed);
            self.counts.warn(format_args!("{}: {error}", self.store.name()));
        };
        answer.inspect_err(warn).ok()
    }

    /// The stored cubin of `key`.
    pub(crate) fn load(&self, key: &ModuleKey) -> Option<StoredCubin> {
        self.ask(|store| store.load(key)).flatten()
    }

    /// Claims `key`.
    pub(crate) fn claim(&self, key: &ModuleKey) -> Claim<StoredCubin> {
        self.ask(|store| store.claim(key)).unwrap_or(Claim::Unheld)
    }

    /// Stores a cubin.
    pub(crate) fn write(&self, key: &ModuleKey, cubin: &StoredCubin) {
        if self.ask(|store| store.store(key, cubin)).is_some() {
            self.counts.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes a cubin that the driver refused, if the store still has this one.
    pub(crate) fn remove_refused(&self, key: &ModuleKey, image: &[u8]) {
        let _ = self.ask(|store| store.remove_refused(key, image));
    }

    /// Returns true if the store keeps what it is given.
    pub(crate) fn is_writable(&self) -> bool {
        self.ask(|store| Ok(store.is_writable())).unwrap_or(false)
    }
}
