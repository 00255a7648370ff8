//! What keeps a store small and sound?

pub(crate) mod quarantine;
mod recompress;
pub(crate) mod sweep;
pub(crate) mod totals;
mod trim;
mod victims;
