//! How does an entry become an artifact? Nothing else reads one.

pub(crate) mod entry_file;
pub(crate) mod layer;
mod verified;
mod verify;

pub use verified::Verified;
