//! Who computes an artifact, so that the other processes wait for it?

mod lease;
pub(crate) mod lock;
mod wait;
