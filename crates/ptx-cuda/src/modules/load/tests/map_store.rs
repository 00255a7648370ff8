//! A store in a map, which can be told to fail.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_cache::{Claim, CubinArtifact, Store, StoreError, Stored};
use ptx_key::ModuleKey;

#[derive(Default)]
pub(super) struct MapStore {
    pub(super) kept: Mutex<HashMap<ModuleKey, CubinArtifact>>,
    pub(super) failing: AtomicBool,
    pub(super) is_read_only: AtomicBool,
    /// Makes every request panic.
    pub(super) broken: AtomicBool,
    /// Held by a write.
    pub(super) writing: Mutex<()>,
    /// How many of the next writes panic.
    pub(super) panics: AtomicUsize,
    /// The number of held claims.
    pub(super) held: Arc<AtomicUsize>,
    /// How many of the next loads find nothing.
    pub(super) hidden: AtomicUsize,
    /// The answer to the next claim.
    pub(super) published: Mutex<Option<CubinArtifact>>,
}

impl MapStore {
    fn answer(&self) -> Result<(), StoreError> {
        assert!(!self.broken.load(Ordering::Relaxed), "a store's bug");
        if self.failing.load(Ordering::Relaxed) { Err("no space left".into()) } else { Ok(()) }
    }

    pub(super) fn only(&self) -> (ModuleKey, CubinArtifact) {
        let kept = self.kept.lock().unwrap();
        assert_eq!(kept.len(), 1);
        kept.iter().map(|(key, cubin)| (*key, cubin.clone())).next().unwrap()
    }

    pub(super) fn put(&self, key: ModuleKey, image: &[u8]) {
        let cubin = CubinArtifact::new(image);
        self.kept.lock().unwrap().insert(key, cubin);
    }
}

impl Store<ModuleKey> for MapStore {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's own signature")]
    fn name(&self) -> &str {
        "map"
    }

    fn load(&self, key: &ModuleKey) -> Result<Option<CubinArtifact>, StoreError> {
        self.answer()?;
        let kept = self.kept.lock().unwrap().get(key).cloned();
        Ok(kept.filter(|_| !one_fewer(&self.hidden)))
    }

    fn store(&self, key: &ModuleKey, cubin: &CubinArtifact) -> Result<Stored, StoreError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!one_fewer(&self.panics), "a store's bug");
        self.answer()?;
        if !self.is_writable() {
            return Ok(Stored::Skipped);
        }
        self.kept.lock().unwrap().entry(*key).or_insert_with(|| cubin.clone());
        Ok(Stored::Written)
    }

    fn is_writable(&self) -> bool {
        !self.is_read_only.load(Ordering::Relaxed)
    }

    fn remove(&self, key: &ModuleKey) -> Result<bool, StoreError> {
        self.answer()?;
        Ok(self.kept.lock().unwrap().remove(key).is_some())
    }

    fn remove_if_payload(&self, key: &ModuleKey, payload: &[u8]) -> Result<bool, StoreError> {
        self.answer()?;
        let mut kept = self.kept.lock().unwrap();
        let is_it = kept.get(key).is_some_and(|cubin| *cubin.payload == *payload);
        Ok(is_it && kept.remove(key).is_some())
    }

    fn claim(&self, _key: &ModuleKey) -> Result<Claim<ModuleKey>, StoreError> {
        self.answer()?;
        let published = self.published.lock().unwrap().take();
        Ok(published.map_or_else(|| Claim::Held(Box::new(Held::new(&self.held))), Claim::Published))
    }
}

/// Subtracts one. Returns true if the count was above zero.
fn one_fewer(count: &AtomicUsize) -> bool {
    let fewer = |left: usize| left.checked_sub(1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
}

/// A claim, counted while it is held.
struct Held(Arc<AtomicUsize>);

impl Held {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
