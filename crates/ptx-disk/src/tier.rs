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
        found(DiskStore::load(self, key), artifact)
    }

    fn store(&self, key: &PtxKey, artifact: &Artifact) -> Result<(), StoreError> {
        let mut entry = Entry::ptx(Arc::clone(&artifact.text), artifact.cost);
        if let Some(family) = &artifact.family {
            entry.attributes.set(Attributes::FAMILY, *family.as_bytes());
        }
        if let Some(trace) = &artifact.trace {
            entry.attributes.set(Attributes::TRACE, trace.to_bytes());
        }
        kept(DiskStore::store(self, key, &entry))
    }

    fn is_writable(&self) -> bool {
        DiskStore::is_writable(self)
    }

    fn remove(&self, key: &PtxKey) -> Result<bool, StoreError> {
        Ok(DiskStore::remove(self, key)?)
    }

    fn claim(&self, key: &PtxKey) -> Result<ptx_cache::Claim, StoreError> {
        Ok(claimed(DiskStore::claim(self, key), artifact))
    }

    fn quarantined(&self) -> u64 {
        self.statistics().quarantined
    }
}

/// What a load came to, for a tier whose entries `read` reads.
pub(crate) fn found<A>(
    load: Load,
    read: impl FnOnce(Entry) -> Option<A>,
) -> Result<Option<A>, StoreError> {
    match load {
        Load::Hit(entry) => Ok(read(entry)),
        Load::Miss | Load::Damaged(_) => Ok(None),
        Load::Failed(error) => Err(error.into()),
    }
}

/// What a write came to, for a tier.
pub(crate) fn kept(stored: Stored) -> Result<(), StoreError> {
    match stored {
        Stored::Failed(error) => Err(error.into()),
        // A store that is off, and an entry that stays for another's sake, are as intended.
        _ => Ok(()),
    }
}

/// What a claim came to, for a tier whose entries `read` reads.
pub(crate) fn claimed<A>(
    claim: Claim,
    read: impl FnOnce(Entry) -> Option<A>,
) -> ptx_cache::Claim<A> {
    match claim {
        Claim::Held(guard) => ptx_cache::Claim::Held(Box::new(guard)),
        Claim::Published(entry) => {
            read(entry).map_or(ptx_cache::Claim::Unheld, ptx_cache::Claim::Published)
        }
        Claim::Unheld => ptx_cache::Claim::Unheld,
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
