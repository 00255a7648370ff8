//! The cache of PTX text: memory above a stack of tiers above the lowering.

mod get_or_lower;
#[cfg(feature = "async")]
mod get_or_lower_async;
mod ptx_cache;
mod tiers;
#[cfg(feature = "async")]
mod tiers_async;
mod verification;
mod verified_share;

pub use ptx_cache::{PtxCache, PtxSnapshot};
pub use tiers::{TierPolicy, TierSnapshot, WritePolicy};
