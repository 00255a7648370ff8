//! The store of cubins below a cache of modules. No failure of the store fails a load.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptx_cache::{Claim, CubinArtifact, Store, StoreError, Stored};
use ptx_key::ModuleKey;

use super::counts::LoadCounts;

/// A store whose failures and panics are counted and answered as misses.
pub(crate) struct GuardedStore {
    store: Arc<dyn Store<ModuleKey>>,
    name: Arc<str>,
    counts: Arc<LoadCounts>,
}

impl GuardedStore {
    pub(crate) fn new(store: Arc<dyn Store<ModuleKey>>, counts: Arc<LoadCounts>) -> Self {
        // A store may panic wherever it is asked.
        let name = catch_unwind(AssertUnwindSafe(|| store.name().into()));
        Self { store, name: name.unwrap_or_else(|_| "store".into()), counts }
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The store's answer, or `None` where it fails.
    fn ask<T>(
        &self,
        question: impl FnOnce(&dyn Store<ModuleKey>) -> Result<T, StoreError>,
    ) -> Option<T> {
        // A panic in the store leaves nothing of this crate half changed. The writing thread goes
        // on to the next cubin, and a loading thread to its module.
        let answer = catch_unwind(AssertUnwindSafe(|| question(&*self.store)));
        let answer = answer.unwrap_or_else(|_| Err("it panicked".into()));
        let warn = |error: &StoreError| {
            self.counts.store_failures.fetch_add(1, Ordering::Relaxed);
            self.counts.warn(format_args!("{}: {error}", self.name));
        };
        answer.inspect_err(warn).ok()
    }

    /// The stored cubin of `key`.
    pub(crate) fn load(&self, key: &ModuleKey) -> Option<CubinArtifact> {
        self.ask(|store| store.load(key)).flatten()
    }

    /// Claims `key`.
    pub(crate) fn claim(&self, key: &ModuleKey) -> Claim<ModuleKey> {
        self.ask(|store| store.claim(key)).unwrap_or(Claim::NotCoordinated)
    }

    /// Stores a cubin.
    pub(crate) fn write(&self, key: &ModuleKey, cubin: &CubinArtifact) {
        if self.ask(|store| store.store(key, cubin)) == Some(Stored::Written) {
            self.counts.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes a cubin that the driver refused, if the store still has this one.
    pub(crate) fn remove_if_payload(&self, key: &ModuleKey, image: &[u8]) {
        let _ = self.ask(|store| store.remove_if_payload(key, image));
    }

    /// Returns true if the store keeps what it is given.
    pub(crate) fn is_writable(&self) -> bool {
        self.ask(|store| Ok(store.is_writable())).unwrap_or(false)
    }
}
