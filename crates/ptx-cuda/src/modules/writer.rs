//! Writes cubins to their store in a thread, so that no load waits for a disk.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use ptx_cache::CubinArtifact;
use ptx_key::ModuleKey;

use super::store::GuardedStore;

/// How many cubins wait at most. The thread that assembled one more writes it itself.
pub(crate) const MOST_WAITING: usize = 64;

/// The writing thread, which the first cubin starts. Its drop writes all that waits.
pub(crate) struct CubinWriter {
    store: Arc<GuardedStore>,
    /// `None` where no thread could be started.
    running: OnceLock<Option<(SyncSender<Job>, JoinHandle<()>)>>,
}

enum Job {
    Write(ModuleKey, CubinArtifact, Option<Box<dyn Send>>),
    /// Answers when all jobs before it are done.
    Flush(SyncSender<()>),
}

impl Job {
    fn run(self, store: &GuardedStore) {
        match self {
            Self::Write(key, cubin, claim) => {
                store.write(&key, &cubin);
                // Released only now, so that the claim's waiters find the cubin.
                drop(claim);
            }
            // The caller may be gone.
            Self::Flush(done) => drop(done.send(())),
        }
    }
}

impl CubinWriter {
    pub(crate) fn new(store: GuardedStore) -> Self {
        Self { store: Arc::new(store), running: OnceLock::new() }
    }

    pub(crate) fn store(&self) -> &GuardedStore {
        &self.store
    }

    /// Writes a cubin in the background, and then releases the claim on its key.
    pub(crate) fn write(&self, key: ModuleKey, cubin: CubinArtifact, claim: Option<Box<dyn Send>>) {
        let job = Job::Write(key, cubin, claim);
        let job = match self.running.get_or_init(|| self.start()) {
            Some((jobs, _)) => match jobs.try_send(job) {
                Ok(()) => return,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => job,
            },
            None => job,
        };
        job.run(&self.store);
    }

    /// Waits until all cubins so far are written.
    pub(crate) fn flush(&self) {
        let Some(Some((jobs, _))) = self.running.get() else { return };
        let (done, wait) = sync_channel(1);
        if jobs.send(Job::Flush(done)).is_ok() {
            // An error means that the thread is gone, and then nothing waits.
            let _ = wait.recv();
        }
    }

    fn start(&self) -> Option<(SyncSender<Job>, JoinHandle<()>)> {
        let (sender, jobs) = sync_channel::<Job>(MOST_WAITING);
        let store = Arc::clone(&self.store);
        let thread = thread::Builder::new().name("ptx-cuda cubins".to_owned());
        let thread = thread.spawn(move || jobs.iter().for_each(|job| job.run(&store)));
        Some((sender, thread.ok()?))
    }
}

impl Drop for CubinWriter {
    fn drop(&mut self) {
        if let Some(Some((jobs, thread))) = self.running.take() {
            drop(jobs);
            // The thread catches the store's panics, so it has none to pass on.
            let _ = thread.join();
        }
    }
}
