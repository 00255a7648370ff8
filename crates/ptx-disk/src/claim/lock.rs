//! How does one process claim a key?
//!
//! A claim is the lock on one file for each key. The system frees it when the holder dies, so
//! nobody waits for a dead process. The file stays: if a holder removed it, a second process could
//! lock the removed file while a third one locks a new file of the same name. The sweep removes old
//! files, so a claim checks that the file it locked still has its name.

use std::io;
use std::time::Duration;

use ptx_store::EntryKey;

use crate::format::layout::Layout;
use crate::storage::directories::open_own_file;
use crate::storage::{Storage, StorageFile};

/// Attempts to lock a file that still has its name.
const ATTEMPTS: u32 = 8;
/// The first wait for a claim that another holds.
const SHORTEST_WAIT: Duration = Duration::from_micros(500);
/// The longest wait. A waiter may sleep so long after the claim is free.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// One attempt to claim a key.
pub(crate) enum Attempt {
    /// The claim is held while this file is open.
    Held(Box<dyn StorageFile>),
    /// Another opening of the file has the lock.
    Busy,
}

/// Tries to claim `key`.
///
/// # Errors
///
/// If the storage cannot tell. `Unsupported` if it has no locks.
pub(crate) fn try_claim(
    storage: &dyn Storage,
    layout: &Layout,
    key: &EntryKey,
) -> io::Result<Attempt> {
    let path = layout.claim(key);
    for _ in 0..ATTEMPTS {
        let file = open_own_file(storage, layout, &path)?;
        if !file.try_lock()? {
            return Ok(Attempt::Busy);
        }
        match storage.metadata(&path) {
            Ok(named) if named.identity == file.metadata()?.identity => {
                return Ok(Attempt::Held(file));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the claim's file keeps losing its name"))
}

/// Growing waits: a waiter notices the end of a short lowering soon, and a long one costs little.
pub(crate) struct Waits(Duration);

impl Waits {
    pub(crate) const fn new() -> Self {
        Self(SHORTEST_WAIT)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 3 / 2).min(LONGEST_WAIT);
        // Waiters that started together should not all look together.
        wait.mul_f64(fastrand::f64().mul_add(0.5, 0.75))
    }
}

#[cfg(test)]
mod tests;
