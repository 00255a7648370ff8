//! The store as a tier of `ptx-cache`.

use std::sync::Arc;

use ptx_cache::{Artifact, Store, StoreError};
use ptx_key::PtxKey;

use crate::{Attributes, Claim, DiskStore, Entry, Load, Payload, Stored};

impl Store for DiskStore {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's own signature")]
    fn name(&self) -> &str {
        "disk"
    }

    fn load(&self, key: &PtxKey) -> Result<Option<Artifact>, StoreError> {
        match DiskStore::load(self, key) {
            Load::Hit(entry) => Ok(artifact(entry)),
            Load::Miss | Load::Damaged(_) => Ok(None),
            Load::Failed(error) => Err(error.into()),
        }
    }

    fn store(&self, key: &PtxKey, artifact: &Artifact) -> Result<(), StoreError> {
        let mut entry = Entry::ptx(Arc::clone(&artifact.text), artifact.cost);
        if let Some(family) = &artifact.family {
            entry.attributes.set(Attributes::FAMILY, *family.as_bytes());
        }
        if let Some(trace) = &artifact.trace {
            entry.attributes.set(Attributes::TRACE, trace.to_bytes());
        }
        match DiskStore::store(self, key, &entry) {
            Stored::Failed(error) => Err(error.into()),
            // A store that is off, and an entry that stays for another's sake, are as intended.
            _ => Ok(()),
        }
    }

    fn remove(&self, key: &PtxKey) -> Result<bool, StoreError> {
        Ok(DiskStore::remove(self, key)?)
    }

    fn claim(&self, key: &PtxKey) -> Result<ptx_cache::Claim, StoreError> {
        Ok(match DiskStore::claim(self, key) {
            Claim::Held(guard) => ptx_cache::Claim::Held(Box::new(guard)),
            Claim::Published(entry) => match artifact(entry) {
                Some(artifact) => ptx_cache::Claim::Published(artifact),
                None => ptx_cache::Claim::Unheld,
            },
            Claim::Unheld => ptx_cache::Claim::Unheld,
        })
    }

    fn quarantined(&self) -> u64 {
        self.statistics().quarantined
    }
}

/// `None` for a cubin, which no key of a PTX text names.
fn artifact(entry: Entry) -> Option<Artifact> {
    let Payload::Ptx(text) = entry.payload else { return None };
    Some(Artifact {
        text,
        cost: entry.cost,
        family: entry.attributes.family(),
        trace: entry.attributes.trace().map(Arc::new),
    })
}

#[cfg(test)]
mod tests;
