//! Where does a miss wait for another process?

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use ptx_store::{ArtifactKey, Claim, EntryKey};

use crate::claim::lease::{Watch, try_lease};
use crate::claim::lock::{Attempt, Waits, try_claim};
use crate::error::OnPath as _;
use crate::storage::Metadata;
use crate::store::{DiskStore, Open};
use crate::{DiskError, Warning};

impl DiskStore {
    pub(crate) fn claim_key<K: ArtifactKey>(&self, key: &K) -> Result<Claim<K>, DiskError> {
        let claim = match self.writable() {
            Some(open) => self.claim_open(open, key),
            None => Ok(Claim::NotCoordinated),
        };
        match &claim {
            Ok(Claim::Held(_)) => self.counters.claims_held.add(),
            Ok(Claim::Published(_)) => self.counters.hits.add(),
            Ok(Claim::NotCoordinated) | Err(_) => self.counters.not_coordinated.add(),
        }
        claim
    }

    fn claim_open<K: ArtifactKey>(&self, open: &Open, key: &K) -> Result<Claim<K>, DiskError> {
        let deadline = Instant::now().checked_add(self.config.longest_claim_wait);
        let entry_key: EntryKey = (*key).into();
        let mut waits = Waits::new();
        let mut watch = Watch::default();
        let path = open.layout.entry(&entry_key);
        // A file that has the name and is useless here, such as one of a newer release.
        let mut useless: Option<Metadata> = None;
        loop {
            if !open.writing.is_open(Instant::now) {
                self.counters.refused.add();
                return Ok(Claim::NotCoordinated);
            }
            let attempt = self
                .attempt(open, &entry_key, &mut watch)
                .on("claim", &open.layout.claim(&entry_key))
                .inspect_err(|error| self.write_failed(error, true))?;
            // The holder may have published between the caller's load and this claim.
            let there = open.storage.metadata(&path).ok();
            let is_useless = there.zip(useless).is_some_and(|(there, seen)| there.is_still(&seen));
            if !is_useless {
                if let Ok(Some(artifact)) = self.load_own(open, key) {
                    return Ok(Claim::Published(artifact));
                }
                useless = there;
            }
            if let Some(guard) = attempt {
                return Ok(Claim::Held(guard));
            }
            let wait = waits.next();
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now + wait > deadline) {
                let waited = self.config.longest_claim_wait;
                self.config.warn(&Warning::GaveUpWaiting { key: entry_key, waited });
                return Ok(Claim::NotCoordinated);
            }
            thread::sleep(wait);
        }
    }

    /// Takes the lock, or a lease if there are no locks. Returns the guard that releases it, or
    /// `None` while another holds it.
    fn attempt(
        &self,
        open: &Open,
        key: &EntryKey,
        watch: &mut Watch,
    ) -> io::Result<Option<Box<dyn Send>>> {
        if !open.lockless.load(Ordering::Relaxed) {
            match try_claim(&*open.storage, &open.layout, key) {
                Ok(Attempt::Held(file)) => return Ok(Some(Box::new(file))),
                Ok(Attempt::Busy) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    open.lockless.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        let lasts = self.config.times().lease;
        let lease = try_lease(&open.storage, &open.layout, key, lasts, watch)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Send>))
    }
}
