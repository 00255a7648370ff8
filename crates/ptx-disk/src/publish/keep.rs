//! How does a store publish, and what else does a write do?

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use ptx_key::Digest;
use ptx_store::{Artifact, ArtifactKey, Attributes, EntryKey, Payload as _, Stored};

use crate::error::OnPath as _;
use crate::format::layout::directory_of;
use crate::format::{Header, LONGEST_PAYLOAD};
use crate::publish::publisher::{Outcome, Publisher};
use crate::store::{DiskStore, Open};
use crate::upkeep::sweep::{sweep_claims, sweep_entries, sweep_temporary};
use crate::upkeep::totals::Change;
use crate::{DiskError, Warning};

/// Writes between two sweeps.
const SWEEP_EVERY: u64 = 64;

impl DiskStore {
    pub(crate) fn keep<K: ArtifactKey>(
        &self,
        key: &K,
        artifact: &Artifact<K::Payload>,
    ) -> Result<Stored, DiskError> {
        let Some(open) = self.writable() else {
            return Ok(Stored::Skipped);
        };
        let key: EntryKey = (*key).into();
        let content = artifact.payload.as_bytes();
        let (header, bytes) =
            self.to_file(&key, content, artifact.cost, artifact.stored_attributes())?;
        match self.publish(open, &header, &bytes) {
            Ok(Outcome::New | Outcome::OverImported) => Ok(Stored::Written),
            Ok(Outcome::AlreadyThere | Outcome::KeptNewer) => Ok(Stored::Present),
            Ok(Outcome::Conflicting { kept }) => {
                let offered = header.content_digest;
                self.config.warn(&Warning::Conflict { key, kept, offered });
                Ok(Stored::Present)
            }
            Err(error) => Err(error),
        }
    }

    /// Publishes a file: passes the gate, leaves free space, counts, records the totals, sweeps.
    pub(crate) fn publish(
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
        let recorded = self.account(open, directory_of(&header.key), &publisher.changes.take());
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
        if matches!(outcome, Outcome::OverImported) {
            self.counters.replaced_imported.add();
        }
        self.sweep_now_and_then(open, directory_of(&header.key));
        Ok(outcome)
    }

    pub(crate) fn publisher<'a>(&'a self, open: &'a Open) -> Publisher<'a> {
        Publisher {
            storage: &*open.storage,
            layout: &open.layout,
            durability: self.config.durability,
            most_bytes: self.config.most_entry_bytes,
            counters: &self.counters,
            changes: RefCell::default(),
        }
    }

    /// Checks that enough of the disk stays free after a file of `bytes`.
    fn leaves_room(&self, open: &Open, bytes: u64) -> Result<(), DiskError> {
        let root = open.layout.root();
        // If the system does not tell, the write does.
        let Ok(facts) = open.storage.file_system(root) else { return Ok(()) };
        let reserve = self.config.free_bytes.min(facts.total / 20);
        // Without a reserve the disk's end is the limit.
        if reserve == 0 || facts.available >= reserve.saturating_add(bytes) {
            return Ok(());
        }
        let available = facts.available;
        Err(DiskError::NoRoom { root: root.to_owned(), available, reserve, bytes })
    }

    /// The file that holds an artifact, and its header.
    fn to_file(
        &self,
        key: &EntryKey,
        content: &[u8],
        cost: Duration,
        mut attributes: Attributes,
    ) -> Result<(Header, Vec<u8>), DiskError> {
        let (bytes, most) =
            (content.len() as u64, self.config.most_entry_bytes.min(LONGEST_PAYLOAD));
        if bytes > most {
            return Err(DiskError::TooLarge { key: *key, bytes, most });
        }
        let (encoding, stored) = self.config.compression.encode(key.kind(), content);
        let content_digest = Digest::of_bytes(content);
        let stored_digest = match &stored {
            Cow::Borrowed(_) => content_digest,
            Cow::Owned(stored) => Digest::of_bytes(stored),
        };
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let created = attributes.take_created().unwrap_or_else(SystemTime::now);
        let since_1970 = created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let producer = attributes.remove(Attributes::PRODUCER);
        let producer = producer.and_then(|bytes| String::from_utf8(bytes).ok());
        let header = Header {
            key: *key,
            encoding,
            stored_digest,
            content_digest,
            stored_bytes: stored.len() as u64,
            content_bytes: bytes,
            cost_nanos: nanos(cost),
            created_nanos: nanos(since_1970),
            level: self.config.compression.level(),
            producer: producer.unwrap_or_else(|| self.config.producer.clone()),
            attributes,
        };
        let mut file = header.to_bytes().ok_or(DiskError::AttributesTooLong { key: *key })?;
        file.extend_from_slice(&stored);
        Ok((header, file))
    }

    /// Removes what dead processes left. Returns the number of files. Writes do the same, a little
    /// at a time.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed.
    pub fn sweep(&self) -> Result<u64, DiskError> {
        let Some(open) = self.writable() else {
            return Ok(0);
        };
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let mut swept = sweep_temporary(storage, layout, self.config.times().temporary, now)
            .on("sweep", &layout.temporary())?;
        for first_byte in 0..=u8::MAX {
            swept += sweep_claims(storage, layout, first_byte, self.config.times().claim, now)
                .on("sweep", &layout.claims(first_byte))?;
        }
        self.counters.swept.add_many(swept);
        Ok(swept)
    }

    /// Sweeps after the first write and then after every 64th: one directory of claims and one of
    /// entries, so that no write pays for all.
    fn sweep_now_and_then(&self, open: &Open, written: u8) {
        let write = open.writes.fetch_add(1, Ordering::Relaxed);
        if !write.is_multiple_of(SWEEP_EVERY) {
            return;
        }
        let (storage, layout, now) = (&*open.storage, &open.layout, SystemTime::now());
        let claims = fastrand::u8(..);
        let swept = [
            sweep_temporary(storage, layout, self.config.times().temporary, now),
            sweep_claims(storage, layout, claims, self.config.times().claim, now),
        ];
        // A later sweep looks at a directory that cannot be listed now.
        self.counters.swept.add_many(swept.into_iter().flatten().sum());
        let aged = sweep_entries(storage, layout, written, self.config.longest_unused, now);
        let removed: Vec<Change> = aged.into_iter().flatten().map(Change::Removed).collect();
        self.counters.trimmed.add_many(removed.len() as u64);
        self.account(open, written, &removed);
    }
}
