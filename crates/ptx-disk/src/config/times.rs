//! How long does the store wait for what it cannot see?

use std::time::Duration;

/// Times that no caller can judge. Tests shorten them.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Where the file system has no locks: the time without a sign of life after which the holder
    /// of a claim counts as dead. Its holder gives five signs in that time.
    pub lease: Duration,
    /// For how long a failure turns reading or writing off. It doubles with each further failure.
    pub first_pause: Duration,
    /// The age at which a file that was never published counts as left behind.
    pub temporary: Duration,
    /// The age at which a claim file that nobody holds is removed.
    pub claim: Duration,
}

impl Times {
    /// What every store uses.
    pub const STANDARD: Self = Self {
        // A file server that restarts keeps its clients waiting for some seconds.
        lease: Duration::from_secs(10),
        // Far longer than one failed operation takes, and nothing to a program that runs.
        first_pause: Duration::from_secs(1),
        // A writer needs its file for moments, and a suspended machine may sleep within them.
        temporary: Duration::from_secs(60 * 60),
        // An empty file costs an inode. One that is removed early is created again.
        claim: Duration::from_secs(24 * 60 * 60),
    };
}
