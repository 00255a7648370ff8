//! Why a request has no value.

use std::error::Error;
use std::sync::Arc;

/// The source of an error, shared by all requests that get the error. The box is within the `Arc`
/// so that the chain of sources leads to the error itself, and `downcast_ref` finds its type.
pub type Cause = Arc<Box<dyn Error + Send + Sync>>;

/// Why a request has no value. Cheap to clone: every request that waited for a leader gets the
/// leader's error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The lowering failed. The next request for the key lowers again.
    ///
    /// The source is the lowering's error; `downcast_ref` gives it back in its own type.
    #[error("lowering failed")]
    Lowering(#[source] Cause),
    /// The leader panicked. Those who waited for it get this error.
    #[error("the lowering panicked in another thread; the next request lowers again")]
    Panicked,
    /// A lowering asked, in its own thread, for the key that it lowers.
    #[error(
        "a lowering asked for its own key: the program depends on itself, or its key leaves out \
         what distinguishes the two"
    )]
    Reentry,
    /// Lowerings in several threads wait for each other.
    #[error(
        "lowerings wait for each other in a circle: each asks, while it runs, for a key that \
         another of them lowers"
    )]
    Deadlock,
    /// A tier could not keep the artifact, and the write policy makes this an error.
    #[error(
        "the tier `{tier}` could not keep the artifact; repair the tier, or set the write policy \
         to ignore it"
    )]
    Store {
        /// The tier's name.
        tier: Arc<str>,
        /// The tier's error.
        source: Cause,
    },
}

impl CacheError {
    /// The error of a lowering. A `CacheError` that the lowering passes on stays as it is.
    pub(crate) fn of_lowering(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(own) => *own,
            Err(error) => Self::Lowering(Arc::new(error)),
        }
    }

    /// The lowering's error, if it has the type `E`.
    pub fn lowering_error<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Lowering(error) => error.downcast_ref(),
            _ => None,
        }
    }
}
