//! Waiting for a claim, and for the entry that its holder publishes.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use super::{DiskStore, Open};
use crate::claim::{Attempt, Waits, try_claim};
use crate::lease::{Watch, try_lease};
use crate::outcome::Held;
use crate::storage::Metadata;
use crate::{Claim, ClaimGuard, DiskError, EntryKey, Load, Warning};

impl DiskStore {
    /// Says that the caller is about to make the artifact of `key`, so that other threads and
    /// processes wait for it. Waits itself while another holds the claim, at most as long as the
    /// configuration says; when the holder dies, this one takes over at once.
    pub fn claim(&self, key: impl Into<EntryKey>) -> Claim {
        let key = key.into();
        let claim = match self.writable() {
            Some(open) => self.claim_open(open, &key),
            None => Claim::Unheld,
        };
        match &claim {
            Claim::Held(_) => self.counters.claims_held.add(),
            Claim::Published(_) => self.counters.hits.add(),
            Claim::Unheld => self.counters.claims_unheld.add(),
        }
        claim
    }

    fn claim_open(&self, open: &Open, key: &EntryKey) -> Claim {
        let deadline = Instant::now().checked_add(self.config.longest_claim_wait);
        let mut waits = Waits::new();
        let mut watch = Watch::default();
        let path = open.layout.entry(key);
        // What stands under the name and is of no use to us: a file of a newer release, say.
        let mut useless: Option<Metadata> = None;
        loop {
            if !open.writing.is_open(Instant::now) {
                self.counters.refused.add();
                return Claim::Unheld;
            }
            let attempt = match self.attempt(open, key, &mut watch) {
                Ok(attempt) => attempt,
                Err(error) => {
                    let path = open.layout.claim(key);
                    self.write_failed(&DiskError::storage("claim", &path, error), true);
                    return Claim::Unheld;
                }
            };
            // The holder may have published between the caller's load and this claim.
            let there = open.storage.metadata(&path).ok();
            let is_useless = there.zip(useless).is_some_and(|(there, seen)| there.is_still(&seen));
            if !is_useless {
                if let Load::Hit(entry) = self.load_open(open, key) {
                    return Claim::Published(entry);
                }
                useless = there;
            }
            if let Some(held) = attempt {
                return Claim::Held(ClaimGuard { _held: held });
            }
            let wait = waits.next();
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now + wait > deadline) {
                let waited = self.config.longest_claim_wait;
                self.config.warn(&Warning::GaveUpWaiting { key: *key, waited });
                return Claim::Unheld;
            }
            thread::sleep(wait);
        }
    }

    /// The lock where there are locks, a lease elsewhere; `None` while another has it.
    fn attempt(&self, open: &Open, key: &EntryKey, watch: &mut Watch) -> io::Result<Option<Held>> {
        if !open.lockless.load(Ordering::Relaxed) {
            match try_claim(&*open.storage, &open.layout, key) {
                Ok(Attempt::Held(file)) => return Ok(Some(Held::Lock { _file: file })),
                Ok(Attempt::Busy) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    open.lockless.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        let lasts = self.config.lease_time;
        let lease = try_lease(&open.storage, &open.layout, key, lasts, watch)?;
        Ok(lease.map(|lease| Held::Lease { _lease: lease }))
    }
}
