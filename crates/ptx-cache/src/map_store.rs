//! A tier for tests.

use std::collections::BTreeMap;

use ptx_key::PtxKey;

use crate::sync::{Mutex, lock};
use crate::{Artifact, Claim, Store, StoreError};

/// A tier in a map, which can be told to fail.
#[derive(Default)]
pub(crate) struct MapStore {
    pub(crate) name: &'static str,
    pub(crate) kept: Mutex<BTreeMap<PtxKey, Artifact>>,
    pub(crate) failing: bool,
    /// Passes over what it is given.
    pub(crate) is_read_only: bool,
    pub(crate) published_at_claim: Option<Artifact>,
    pub(crate) calls: Mutex<Vec<&'static str>>,
}

impl MapStore {
    pub(crate) fn named(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    fn call(&self, call: &'static str) -> Result<(), StoreError> {
        lock(&self.calls).push(call);
        if self.failing { Err("no space left on device".into()) } else { Ok(()) }
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut lock(&self.calls))
    }
}

impl Store for MapStore {
    fn name(&self) -> &str {
        self.name
    }

    fn load(&self, key: &PtxKey) -> Result<Option<Artifact>, StoreError> {
        self.call("load")?;
        Ok(lock(&self.kept).get(key).cloned())
    }

    fn store(&self, key: &PtxKey, artifact: &Artifact) -> Result<(), StoreError> {
        self.call("store")?;
        if !self.is_read_only {
            lock(&self.kept).insert(*key, artifact.clone());
        }
        Ok(())
    }

    fn is_writable(&self) -> bool {
        !self.is_read_only
    }

    fn remove(&self, key: &PtxKey) -> Result<bool, StoreError> {
        self.call("remove")?;
        Ok(lock(&self.kept).remove(key).is_some())
    }

    fn claim(&self, _key: &PtxKey) -> Result<Claim, StoreError> {
        self.call("claim")?;
        Ok(match &self.published_at_claim {
            Some(artifact) => Claim::Published(artifact.clone()),
            None => Claim::Held(Box::new(())),
        })
    }
}
