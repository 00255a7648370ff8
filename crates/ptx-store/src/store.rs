//! What a tier must do.

use std::error::Error;
use std::fmt;

use crate::{Artifact, ArtifactKey, Payload as _};

/// Why a tier could not do its work. A cache counts it and goes on without the tier.
pub type StoreError = Box<dyn Error + Send + Sync>;

/// A tier below memory, of the artifacts that keys `K` name: a directory, a fleet's object store.
///
/// A tier is shared with strangers: other threads, processes, machines. It answers for what it
/// returns: an artifact that is damaged or belongs to another key is a miss, never a result.
/// Every method may block for input and output. No caller holds a lock while it calls one.
///
/// A tier that keeps both kinds implements `Store<K>` for every [`ArtifactKey`]. The feature
/// `testing` has a suite that checks an implementation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no store of the artifacts that `{K}` names",
    note = "`ptx_disk::DiskStore` implements `Store<PtxKey>` and `Store<ModuleKey>`; your own tier \
            implements `Store<K>` for the keys that it keeps"
)]
pub trait Store<K: ArtifactKey>: Send + Sync + 'static {
    /// A short name for counters and messages, such as `disk`.
    fn name(&self) -> &str;

    /// Loads the artifact of `key`. Returns `None` where the tier has none that it can use.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. A cache takes this for a miss.
    fn load(&self, key: &K) -> Result<Option<Artifact<K::Payload>>, StoreError>;

    /// Keeps `artifact` under `key`, whole or not at all. The next load sees it.
    ///
    /// # Errors
    ///
    /// Where it could not be kept.
    fn store(&self, key: &K, artifact: &Artifact<K::Payload>) -> Result<Stored, StoreError>;

    /// Removes the artifact of `key`. Returns true if it was present.
    ///
    /// # Errors
    ///
    /// Where it could not be removed.
    fn remove(&self, key: &K) -> Result<bool, StoreError>;

    /// Removes the artifact of `key` if its payload is still `payload`, for a caller that found
    /// this one payload useless. Returns true if it was removed.
    ///
    /// Another process may replace the artifact between the look and the removal. Then that one
    /// is computed once more.
    ///
    /// # Errors
    ///
    /// Where it could not be looked at or removed.
    fn remove_if_payload(&self, key: &K, payload: &[u8]) -> Result<bool, StoreError> {
        match self.load(key)? {
            Some(artifact) if artifact.payload.as_bytes() == payload => self.remove(key),
            _ => Ok(false),
        }
    }

    /// Claims `key`: the caller is about to compute its artifact, and others who share the tier
    /// wait. Blocks while another holds the claim, for a bounded time.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. A cache goes on as with [`Claim::NotCoordinated`].
    fn claim(&self, key: &K) -> Result<Claim<K>, StoreError>;

    /// Returns true if the tier keeps what it is given, as far as it knows. A tier that is off or
    /// read-only skips writes. Then the artifact must be computed again after memory evicts it.
    fn is_writable(&self) -> bool {
        true
    }

    /// The number of damaged artifacts that this tier quarantined since it was opened.
    fn quarantined(&self) -> u64 {
        0
    }
}

/// What a tier did with an artifact that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The tier wrote it.
    Written,
    /// The tier already has an artifact of this key and keeps it: the same, or one that takes
    /// precedence.
    Present,
    /// The tier is off or read-only by its settings, and writes nothing. A tier that would write but
    /// cannot gives an error.
    Skipped,
}

/// The answer to a claim on a key.
pub enum Claim<K: ArtifactKey> {
    /// The caller computes the artifact. The tier had none after the claim was taken. Dropping the
    /// guard releases the claim.
    Held(Box<dyn Send>),
    /// Another holder published the artifact in the meantime.
    Published(Artifact<K::Payload>),
    /// The caller holds no claim. The tier does not coordinate, or the wait reached its limit.
    NotCoordinated,
}

impl<K: ArtifactKey> fmt::Debug for Claim<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(_) => f.write_str("Held"),
            Self::Published(artifact) => f.debug_tuple("Published").field(artifact).finish(),
            Self::NotCoordinated => f.write_str("NotCoordinated"),
        }
    }
}
