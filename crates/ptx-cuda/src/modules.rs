//! How modules are loaded once, kept, shared and unloaded.

mod cache;
mod counts;
mod keys;
mod load;
mod lookups;
mod module;
mod residents;
mod room;
mod store;
mod unload;
mod warm;
mod writer;

pub use cache::ModuleCache;
pub use counts::{CubinSnapshot, ModuleSnapshot};
pub use keys::ModuleKeys;
pub use module::{Function, Module};
pub use residents::ResidentKey;
pub use warm::{WarmProgress, Warmed};
