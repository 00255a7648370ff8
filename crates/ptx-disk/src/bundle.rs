//! How do many entries travel in one file? `FORMAT.md` beside this crate is the specification.

pub(crate) mod index;
pub(crate) mod reader;
mod transfer;

pub use index::{Index, MOST_ENTRIES};
pub use reader::Bundle;
pub use transfer::Imported;
