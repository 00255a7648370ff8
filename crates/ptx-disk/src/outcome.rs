//! What came of an operation on the store.

use std::fmt;

use ptx_key::Digest;

use crate::lease::Lease;
use crate::storage::StorageFile;
use crate::{Damage, DiskError, Entry};

/// What a load found.
#[derive(Debug)]
#[must_use]
pub enum Load {
    /// The entry.
    Hit(Entry),
    /// None, or one of a newer release, or reading is turned off.
    Miss,
    /// A damaged file, which was set aside.
    Damaged(Damage),
    /// The file system did not let us see.
    Failed(DiskError),
}

impl Load {
    /// The entry, if there was one.
    pub fn hit(self) -> Option<Entry> {
        match self {
            Self::Hit(entry) => Some(entry),
            _ => None,
        }
    }
}

/// What became of an entry that was to be kept.
#[derive(Debug)]
#[must_use]
pub enum Stored {
    /// It is published.
    Published,
    /// It is published, over an imported entry with other content.
    PublishedOverImported,
    /// The same content was there.
    AlreadyThere,
    /// Other content was there, and stays.
    Conflicting {
        /// SHA-256 of the content that stays.
        kept: Digest,
    },
    /// A file of a newer release was there, and stays.
    KeptNewer,
    /// The store is off or read-only.
    NotWritable,
    /// It is not kept, or may not survive all that it should.
    Failed(DiskError),
}

/// What came of claiming a key.
#[derive(Debug)]
#[must_use]
pub enum Claim {
    /// The caller makes the artifact; the store has none. Dropping the guard ends the claim.
    Held(ClaimGuard),
    /// Another holder published the entry in the meantime.
    Published(Entry),
    /// Nobody is kept waiting: the wait was as long as it may be, or the store cannot coordinate.
    Unheld,
}

/// A claim on a key. Dropping it lets the next one on; so does the death of the process.
pub struct ClaimGuard {
    pub(crate) _held: Held,
}

/// What stands for a claim.
pub(crate) enum Held {
    /// The lock on an open file.
    Lock { _file: Box<dyn StorageFile> },
    /// A lease, where there are no locks.
    Lease { _lease: Lease },
}

impl fmt::Debug for ClaimGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClaimGuard")
    }
}
