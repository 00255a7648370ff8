//! How does one process claim a key where the file system has no locks, as on some network file
//! systems?
//!
//! The holder creates a file, touches it again and again, and removes it in the end. A waiter that
//! sees the file unchanged for the time of a lease takes the holder for dead, moves the file away
//! and creates its own. Only the waiter's clock counts, so clocks that differ between machines do
//! no harm. Only time in which it keeps looking counts, since what stops the waiter has likely
//! stopped the holder too. A holder that sleeps for longer may lose its lease. Then two processes
//! compute the same artifact, and the first one stays.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use ptx_store::EntryKey;

use crate::format::layout::Layout;
use crate::storage::directories::create_parents_of;
use crate::storage::{FileIdentity, Metadata, Storage, StorageFile};

/// Touches within the time that a lease lasts.
const HEARTBEATS: u32 = 5;

/// A lease that is held. Dropping it releases it.
pub(crate) struct Lease {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    identity: FileIdentity,
    released: Arc<(Mutex<bool>, Condvar)>,
    beating: Option<JoinHandle<Box<dyn StorageFile>>>,
}

/// What a waiter has seen of another's lease.
#[derive(Default)]
pub(crate) struct Watch(Option<Seen>);

struct Seen {
    identity: FileIdentity,
    modified: SystemTime,
    last_look: Instant,
    /// The time for which a waiter watched it unchanged.
    unchanged: Duration,
}

impl Seen {
    fn is(&self, file: &Metadata) -> bool {
        // Systems give the number of a removed file to the next one.
        self.identity == file.identity && self.modified == file.modified
    }
}

/// Tries to take the lease on `key`. Returns `None` while another holds it. `watch` is the waiter's
/// memory between attempts.
///
/// # Errors
///
/// The storage's error.
pub(crate) fn try_lease(
    storage: &Arc<dyn Storage>,
    layout: &Layout,
    key: &EntryKey,
    lasts: Duration,
    watch: &mut Watch,
) -> io::Result<Option<Lease>> {
    let path = layout.lease(key);
    let mut made = storage.create_file(&path);
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        create_parents_of(&**storage, layout, &path)?;
        made = storage.create_file(&path);
    }
    match made {
        Ok(file) => Lease::hold(storage, path, file, lasts).map(Some),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if watch.is_dead(&**storage, &path, lasts)? {
                break_lease(&**storage, layout, &path, watch)?;
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Watch {
    /// Looks at the lease. Returns true if it was unchanged for the time of a lease.
    fn is_dead(&mut self, storage: &dyn Storage, path: &Path, lasts: Duration) -> io::Result<bool> {
        // Opening it makes a network file system ask its server again.
        let seen = match storage.open_file(path).and_then(|file| file.metadata()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            seen => seen?,
        };
        let now = Instant::now();
        match &mut self.0 {
            Some(known) if known.is(&seen) => {
                let since = now.duration_since(known.last_look).min(lasts / HEARTBEATS);
                known.unchanged = known.unchanged.saturating_add(since);
                known.last_look = now;
                Ok(known.unchanged >= lasts)
            }
            _ => {
                let Metadata { identity, modified, .. } = seen;
                let unchanged = Duration::ZERO;
                self.0 = Some(Seen { identity, modified, last_look: now, unchanged });
                Ok(false)
            }
        }
    }
}

/// Removes a dead holder's lease. If another waiter was faster, its new lease gets its name back.
fn break_lease(
    storage: &dyn Storage,
    layout: &Layout,
    path: &Path,
    watch: &mut Watch,
) -> io::Result<()> {
    let aside = layout.new_temporary();
    create_parents_of(storage, layout, &aside)?;
    match storage.rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        outcome => outcome?,
    }
    let moved = storage.metadata(&aside)?;
    match watch.0.take() {
        Some(dead) if !dead.is(&moved) => storage.rename_new(&aside, path),
        _ => storage.remove_file(&aside),
    }
}

impl Lease {
    fn hold(
        storage: &Arc<dyn Storage>,
        path: PathBuf,
        file: Box<dyn StorageFile>,
        lasts: Duration,
    ) -> io::Result<Self> {
        let released = Arc::new((Mutex::new(false), Condvar::new()));
        let until = Arc::clone(&released);
        let started = file.metadata().and_then(|metadata| {
            let thread = thread::Builder::new().name("ptx-disk lease".to_owned());
            let beating = thread.spawn(move || beat(file, &until, lasts / HEARTBEATS))?;
            Ok((metadata.identity, beating))
        });
        let (identity, beating) = started.inspect_err(|_| {
            // Others would wait for a lease that nobody touches.
            let _ = storage.remove_file(&path);
        })?;
        Ok(Self { storage: Arc::clone(storage), path, identity, released, beating: Some(beating) })
    }
}

/// Touches the file until it is told to stop. Returns the file.
fn beat(
    file: Box<dyn StorageFile>,
    until: &(Mutex<bool>, Condvar),
    pause: Duration,
) -> Box<dyn StorageFile> {
    let (released, told) = until;
    let mut done = released.lock().unwrap_or_else(PoisonError::into_inner);
    while !*done {
        let wait = told.wait_timeout(done, pause);
        done = wait.unwrap_or_else(PoisonError::into_inner).0;
        // A beat that fails is followed by another.
        let _ = file.set_modified(SystemTime::now());
    }
    drop(done);
    file
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (released, told) = &*self.released;
        *released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
        // Open until the end, so that no other file gets its number.
        let _file = self.beating.take().map(JoinHandle::join);
        // By now another process may have the lease.
        if self.storage.metadata(&self.path).is_ok_and(|named| named.identity == self.identity) {
            let _ = self.storage.remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
