//! A store in memory, for tests of what stands above stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Artifact, ArtifactKey, Claim, Store, StoreError, Stored};

/// A store in a map. It can be told to fail and to skip writes, and it notes every call.
#[derive(Debug)]
pub struct MapStore<K: ArtifactKey> {
    name: String,
    state: Mutex<State<K>>,
}

struct State<K: ArtifactKey> {
    entries: BTreeMap<K, Artifact<K::Payload>>,
    calls: Vec<&'static str>,
    failure: Option<String>,
    is_read_only: bool,
    published_at_claim: Option<Artifact<K::Payload>>,
}

impl<K: ArtifactKey> MapStore<K> {
    /// An empty store.
    pub fn named(name: &str) -> Self {
        let state = State {
            entries: BTreeMap::new(),
            calls: Vec::new(),
            failure: None,
            is_read_only: false,
            published_at_claim: None,
        };
        Self { name: name.to_owned(), state: Mutex::new(state) }
    }

    /// An empty store that fails every call with this message.
    pub fn failing(name: &str, message: &str) -> Self {
        let store = Self::named(name);
        store.fail_with(Some(message));
        store
    }

    /// Fails every later call with `message`. `None` ends this.
    pub fn fail_with(&self, message: Option<&str>) {
        self.state().failure = message.map(str::to_owned);
    }

    /// Skips writes from now on, or not.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.state().is_read_only = is_read_only;
    }

    /// Answers the next claims with this artifact, as if another holder published it.
    pub fn publish_at_claim(&self, artifact: Artifact<K::Payload>) {
        self.state().published_at_claim = Some(artifact);
    }

    /// The names of the calls since the last time that this was asked.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().calls)
    }

    /// The artifacts, by key.
    pub fn entries(&self) -> BTreeMap<K, Artifact<K::Payload>> {
        self.state().entries.clone()
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call. Returns the failure that was set.
    fn called(&self, call: &'static str) -> Result<MutexGuard<'_, State<K>>, StoreError> {
        let mut state = self.state();
        state.calls.push(call);
        match state.failure.clone() {
            Some(message) => Err(message.into()),
            None => Ok(state),
        }
    }
}

impl<K: ArtifactKey> Store<K> for MapStore<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&self, key: &K) -> Result<Option<Artifact<K::Payload>>, StoreError> {
        Ok(self.called("load")?.entries.get(key).cloned())
    }

    fn store(&self, key: &K, artifact: &Artifact<K::Payload>) -> Result<Stored, StoreError> {
        let mut state = self.called("store")?;
        if state.is_read_only {
            return Ok(Stored::Skipped);
        }
        state.entries.insert(*key, artifact.clone());
        Ok(Stored::Written)
    }

    fn remove(&self, key: &K) -> Result<bool, StoreError> {
        Ok(self.called("remove")?.entries.remove(key).is_some())
    }

    fn claim(&self, key: &K) -> Result<Claim<K>, StoreError> {
        let state = self.called("claim")?;
        let published = state.published_at_claim.as_ref().or_else(|| state.entries.get(key));
        Ok(published.cloned().map_or_else(|| Claim::Held(Box::new(())), Claim::Published))
    }

    fn is_writable(&self) -> bool {
        !self.state().is_read_only
    }
}

impl<K: ArtifactKey> fmt::Debug for State<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}
