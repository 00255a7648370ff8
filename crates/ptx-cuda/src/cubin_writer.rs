//! Writes cubins to their store in a thread of its own, so that nobody who loads waits for a disk.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use ptx_cache::StoredCubin;
use ptx_key::ModuleKey;

use crate::cubins::Keeper;

/// Cubins that may wait to be written. One more is written by the thread that assembled it.
pub(crate) const MOST_WAITING: usize = 64;

/// The thread that writes, started by the first cubin. What waits is written before this has
/// dropped.
pub(crate) struct CubinWriter {
    keeper: Arc<Keeper>,
    /// `None` where no thread could be had.
    running: OnceLock<Option<(SyncSender<Job>, JoinHandle<()>)>>,
}

enum Job {
    Write(ModuleKey, StoredCubin, Option<Box<dyn Send>>),
    /// To say that all before it is done.
    Tell(SyncSender<()>),
}

impl Job {
    fn run(self, keeper: &Keeper) {
        match self {
            Self::Write(key, cubin, claim) => {
                keeper.write(&key, &cubin);
                // Those who wait for the claim find the cubin.
                drop(claim);
            }
            // Who asked may have gone.
            Self::Tell(done) => drop(done.send(())),
        }
    }
}

impl CubinWriter {
    pub(crate) fn new(keeper: Arc<Keeper>) -> Self {
        Self { keeper, running: OnceLock::new() }
    }

    pub(crate) fn write(&self, key: ModuleKey, cubin: StoredCubin, claim: Option<Box<dyn Send>>) {
        let job = Job::Write(key, cubin, claim);
        let job = match self.running.get_or_init(|| self.start()) {
            Some((jobs, _)) => match jobs.try_send(job) {
                Ok(()) => return,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => job,
            },
            None => job,
        };
        job.run(&self.keeper);
    }

    pub(crate) fn flush(&self) {
        let Some(Some((jobs, _))) = self.running.get() else { return };
        let (done, wait) = sync_channel(1);
        if jobs.send(Job::Tell(done)).is_ok() {
            // It ends without a word only where the thread is gone, and then nothing waits.
            let _ = wait.recv();
        }
    }

    fn start(&self) -> Option<(SyncSender<Job>, JoinHandle<()>)> {
        let (sender, jobs) = sync_channel::<Job>(MOST_WAITING);
        let keeper = Arc::clone(&self.keeper);
        let thread = thread::Builder::new().name("ptx-cuda cubins".to_owned());
        let thread = thread.spawn(move || jobs.iter().for_each(|job| job.run(&keeper)));
        Some((sender, thread.ok()?))
    }
}

impl Drop for CubinWriter {
    fn drop(&mut self) {
        if let Some(Some((jobs, thread))) = self.running.take() {
            drop(jobs);
            // A store that panicked has said so.
            let _ = thread.join();
        }
    }
}
