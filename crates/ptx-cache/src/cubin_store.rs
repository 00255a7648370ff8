//! What a tier of machine code must do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::ModuleKey;

use crate::{Claim, StoreError};

/// A cubin with what is known of it: what a tier keeps.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredCubin {
    /// The image.
    pub image: Arc<[u8]>,
    /// What the assembly took when it was paid, on the machine that paid it.
    pub cost: Duration,
}

impl fmt::Debug for StoredCubin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cubin of {} bytes that took {:?}", self.image.len(), self.cost)
    }
}

/// A tier of machine code, as [`Store`](crate::Store) is one of texts: a directory on disk, a
/// fleet's object store. It is used by what loads modules, and stands here so that neither that
/// nor a store depends on the other.
///
/// The same holds as for a tier of texts: it is shared with strangers, it answers for what it
/// returns, and every method may block for input and output.
pub trait CubinStore: Send + Sync + 'static {
    /// A short name for messages, such as `disk`.
    fn name(&self) -> &str;

    /// The cubin of `key`; `None` where the tier has none that can be used.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. It is taken for a miss.
    fn load(&self, key: &ModuleKey) -> Result<Option<StoredCubin>, StoreError>;

    /// Keeps `cubin` under `key`, at once and whole or not at all.
    ///
    /// # Errors
    ///
    /// Where it could not be kept.
    fn store(&self, key: &ModuleKey, cubin: &StoredCubin) -> Result<(), StoreError>;

    /// Whether what is given to it now is kept, as far as it knows. A tier that is off or read-only
    /// passes over it, and what memory then throws out must be assembled again.
    fn is_writable(&self) -> bool {
        true
    }

    /// Takes out the cubin of `key` if its image is still `refused`, which a driver did not take;
    /// whether it was. Another process may have put a better one in its place by now.
    ///
    /// # Errors
    ///
    /// Where it could not be taken out.
    fn remove_refused(&self, key: &ModuleKey, refused: &[u8]) -> Result<bool, StoreError>;

    /// Says that the caller is about to assemble the cubin of `key`, so that others who share the
    /// tier wait for it. Blocks while another holds the claim, for a bounded time.
    ///
    /// # Errors
    ///
    /// Where the tier cannot tell. The caller goes on as with [`Claim::Unheld`].
    fn claim(&self, key: &ModuleKey) -> Result<Claim<StoredCubin>, StoreError>;
}
