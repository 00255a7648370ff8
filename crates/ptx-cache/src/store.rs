//! What a tier beneath memory must do.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::{Digest, KeyTrace, PtxKey};

/// A lowering with what is known of it: what a tier keeps.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The PTX text.
    pub text: Arc<str>,
    /// What the lowering took when it was paid, on the machine that paid it.
    pub cost: Duration,
    /// The digest of the program's normalized lane: artifacts that share it are variants of one
    /// program.
    pub family: Option<Digest>,
    /// The key's parts, where the caller gave them.
    pub trace: Option<Arc<KeyTrace>>,
}

/// Why a tier could not do its work. The cache counts it and goes on without the tier.
pub type StoreError = Box<dyn Error + Send + Sync>;

/// A tier beneath memory: a directory on disk, a fleet's object store.
///
/// A tier is shared with strangers: other threads, processes, machines. It answers for what it
/// returns: an artifact that is damaged or belongs to another key is a miss, never a result.
/// Every method may block for input and output, and is called with no lock of the cache held.
pub trait Store: Send + Sync + 'static {
    /// A short name for counters and messages, such as `disk`.
    fn name(&self) -> &str;

    /// The artifact of `key`; `None` where the tier has none that can be used.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. The cache takes it for a miss.
    fn load(&self, key: &PtxKey) -> Result<Option<Artifact>, StoreError>;

    /// Keeps `artifact` under `key`, at once and whole or not at all.
    ///
    /// # Errors
    ///
    /// Where it could not be kept.
    fn store(&self, key: &PtxKey, artifact: &Artifact) -> Result<(), StoreError>;

    /// Takes out the artifact of `key`; whether there was one.
    ///
    /// # Errors
    ///
    /// Where it could not be taken out.
    fn remove(&self, key: &PtxKey) -> Result<bool, StoreError>;

    /// Says that the caller is about to make the artifact of `key`, so that others who share the
    /// tier wait for it. Blocks while another holds the claim, for a bounded time.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. The cache goes on as with [`Claim::Unheld`].
    fn claim(&self, key: &PtxKey) -> Result<Claim, StoreError>;

    /// Whether what is given to it now is kept, as far as it knows. A tier that is off or read-only
    /// passes over it, and what memory then throws out must be lowered again.
    fn is_writable(&self) -> bool {
        true
    }

    /// Damaged artifacts that this tier has set aside since it was opened.
    fn quarantined(&self) -> u64 {
        0
    }
}

/// What came of claiming a key of artifacts `A`.
pub enum Claim<A = Artifact> {
    /// The caller makes the artifact. The tier had none after the claim was taken. Dropping the
    /// box releases the claim.
    Held(Box<dyn Send>),
    /// Another holder published the artifact in the meantime.
    Published(A),
    /// Nobody is kept waiting: the tier does not coordinate, or waited as long as it may.
    Unheld,
}

impl<A: fmt::Debug> fmt::Debug for Claim<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(_) => f.write_str("Held"),
            Self::Published(artifact) => f.debug_tuple("Published").field(artifact).finish(),
            Self::Unheld => f.write_str("Unheld"),
        }
    }
}
