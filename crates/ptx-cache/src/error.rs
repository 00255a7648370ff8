//! What a caller of the cache can see go wrong.

use std::error::Error;
use std::sync::Arc;

/// What an error came of, shared by all who get it. Boxed within the `Arc`: an `Arc` of the error
/// alone is an error itself, and who follows the chain would meet that and not tell what it holds.
pub type Cause = Arc<Box<dyn Error + Send + Sync>>;

/// Why a request has no value. Cheap to copy: everyone who waited for a lowering gets the same.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The lowering failed. The next request for the key lowers again.
    ///
    /// The source is the lowering's own error; `downcast_ref` gives it back in its own type.
    #[error("lowering failed: {0}")]
    Lowering(#[source] Cause),
    /// The lowering panicked in the thread that ran it; this is what those who waited get.
    #[error("the lowering panicked in another thread; the next request lowers again")]
    Panicked,
    /// A lowering asked, in its own thread, for the key that it is lowering.
    #[error(
        "a lowering asked for its own key: the program depends on itself, or its key leaves out \
         what tells the two apart"
    )]
    Reentry,
    /// Lowerings in several threads wait for each other in a circle.
    #[error(
        "lowerings wait for each other in a circle: each asks, while it runs, for a key that \
         another of them is lowering"
    )]
    Deadlock,
    /// A tier could not keep the artifact, and the configuration says that this is an error.
    #[error(
        "the tier `{tier}` could not keep the artifact: {source}; mend the tier, or set the write \
         policy to ignore it"
    )]
    Store {
        /// The tier's name.
        tier: String,
        /// What the tier said.
        source: Cause,
    },
}

impl CacheError {
    /// The lowering's own error, where it is of type `E`.
    pub fn lowering_error<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Lowering(error) => error.downcast_ref(),
            _ => None,
        }
    }
}
