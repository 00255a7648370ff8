//! Keeping an entry, and sweeping along the way.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use ptx_key::Digest;

use super::{DiskStore, Open};
use crate::error::OnPath as _;
use crate::format::{Header, LONGEST_PAYLOAD};
use crate::publish::{Outcome, Publisher};
use crate::sweep::{sweep_claims, sweep_entries, sweep_temporary};
use crate::totals::Change;
use crate::{DiskError, Entry, EntryKey, Stored, Warning};

/// Writes between two sweeps.
const SWEEP_EVERY: u64 = 64;

impl DiskStore {
    /// Keeps `entry` under `key`, whole or not at all, unless something is there already.
    pub fn store(&self, key: impl Into<EntryKey>, entry: &Entry) -> Stored {
        let key = key.into();
        let Some(open) = self.writable() else {
            return Stored::NotWritable;
        };
        let (header, bytes) = match self.to_file(&key, entry) {
            Ok(file) => file,
            Err(error) => return Stored::Failed(error),
        };
        match self.publish(open, &header, &bytes) {
            Ok(Outcome::New) => Stored::Published,
            Ok(Outcome::OverImported) => Stored::PublishedOverImported,
            Ok(Outcome::AlreadyThere) => Stored::AlreadyThere,
            Ok(Outcome::KeptNewer) => Stored::KeptNewer,
            Ok(Outcome::Conflicting { kept }) => {
                let offered = header.content_digest;
                self.config.warn(&Warning::Conflict { key, kept, offered });
                Stored::Conflicting { kept }
            }
            Err(error) => Stored::Failed(error),
        }
    }

    /// Publishes a file, with all that goes with it: the gate, the reserve of free space, the
    /// counters, the totals, the sweep.
    pub(super) fn publish(
        &self,
        open: &Open,
        header: &Header,
        bytes: &[u8],
    ) -> Result<Outcome, DiskError> {
        if !open.writing.permits(Instant::now) {
            self.counters.refused.add();
            return Err(DiskError::Degraded { root: open.layout.root().to_owned() });
        }
        let publisher = self.publisher(open);
        let room = self.leaves_room(open, bytes.len() as u64);
        let written = room.and_then(|()| publisher.publish(header, bytes));
        let outcome = written.inspect_err(|error| self.write_failed(error, true));
        let recorded = self.account(open, header.key.folder(), &publisher.changes.take());
        let outcome = outcome?;
        if recorded {
            open.writing.succeeded();
        }
        let counter = match outcome {
            Outcome::New | Outcome::OverImported => &self.counters.published,
            Outcome::AlreadyThere => &self.counters.already_there,
            Outcome::Conflicting { .. } => &self.counters.conflicting,
            Outcome::KeptNewer => &self.counters.left_alone,
        };
        counter.add();
        self.sweep_now_and_then(open, header.key.folder());
        Ok(outcome)
    }

    pub(super) fn publisher<'a>(&'a self, open: &'a Open) -> Publisher<'a> {
        Publisher {
            storage: &*open.storage,
            layout: &open.layout,
            durability: self.config.durability,
            most_bytes: self.config.most_entry_bytes,
            counters: &self.counters,
            changes: RefCell::default(),
        }
    }

    /// Whether enough of the disk stays free for others behind a file of so many bytes.
    fn leaves_room(&self, open: &Open, bytes: u64) -> Result<(), DiskError> {
        let root = open.layout.root();
        // Where the system does not tell, writing will.
        let Ok(facts) = open.storage.file_system(root) else { return Ok(()) };
        let reserve = self.config.bounds.free_bytes.min(facts.total / 20);
        // With no reserve the end of the disk itself is the bound.
        if reserve == 0 || facts.available >= reserve.saturating_add(bytes) {
            return Ok(());
        }
        let available = facts.available;
        Err(DiskError::NoRoom { root: root.to_owned(), available, reserve, bytes })
    }

    /// The file that holds `entry`, and its header.
    fn to_file(&self, key: &EntryKey, entry: &Entry) -> Result<(Header, Vec<u8>), DiskError> {
        let found = entry.payload.kind();
        if found != key.kind() {
            return Err(DiskError::WrongKind { key: *key, found });
        }
        let content = entry.payload.as_bytes();
        let (bytes, most) =
            (content.len() as u64, self.config.most_entry_bytes.min(LONGEST_PAYLOAD));
        if bytes > most {
            return Err(DiskError::TooLarge { key: *key, bytes, most });
        }
        let (encoding, stored) = self.config.compression.encode(found, content);
        let content_digest = Digest::of_bytes(content);
        let stored_digest = match &stored {
            Cow::Borrowed(_) => content_digest,
            Cow::Owned(stored) => Digest::of_bytes(stored),
        };
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let since_1970 = entry.created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let producer = [&entry.producer, &self.config.producer];
        let producer = producer.into_iter().find(|name| !name.is_empty());
        let header = Header {
            key: *key,
            encoding,
            stored_digest,
            content_digest,
            stored_bytes: stored.len() as u64,
            content_bytes: bytes,
            cost_nanos: nanos(entry.cost),
            created_nanos: nanos(since_1970),
            level: self.config.compression.level(),
            producer: producer.cloned().unwrap_or_default(),
            attributes: entry.attributes.clone(),
        };
        let mut file = header.to_bytes().ok_or(DiskError::AttributesTooLong { key: *key })?;
        file.extend_from_slice(&stored);
        Ok((header, file))
    }

    /// Removes what dead processes left behind; how many files. Publishing does the same, bit by
    /// bit.
    ///
    /// # Errors
    ///
    /// Where a folder cannot be listed.
    pub fn sweep(&self) -> Result<u64, DiskError> {
        let Some(open) = self.writable() else {
            return Ok(0);
        };
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let mut swept = sweep_temporary(storage, layout, self.config.temporary_age, now)
            .on("sweep", &layout.temporary())?;
        for first_byte in 0..=u8::MAX {
            swept += sweep_claims(storage, layout, first_byte, self.config.claim_age, now)
                .on("sweep", &layout.claims(first_byte))?;
        }
        self.counters.swept.add_many(swept);
        Ok(swept)
    }

    /// Each store sweeps after its first write, and then once in a while; one folder of claims and
    /// one of entries at a time, so that no call pays for all of them.
    fn sweep_now_and_then(&self, open: &Open, written: u8) {
        let write = open.writes.fetch_add(1, Ordering::Relaxed);
        if !write.is_multiple_of(SWEEP_EVERY) {
            return;
        }
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let claims = fastrand::u8(..);
        let swept = [
            sweep_temporary(storage, layout, self.config.temporary_age, now),
            sweep_claims(storage, layout, claims, self.config.claim_age, now),
        ];
        // A folder that cannot be listed now is swept another time.
        self.counters.swept.add_many(swept.into_iter().flatten().sum());
        let aged = sweep_entries(storage, layout, written, self.config.bounds.age, now);
        let removed: Vec<Change> = aged.into_iter().flatten().map(Change::Removed).collect();
        self.counters.trimmed.add_many(removed.len() as u64);
        self.account(open, written, &removed);
    }
}
