//! What do the bytes of a store mean? `FORMAT.md` beside this crate is the specification.

mod buffer;
pub(crate) mod compression;
mod decoding;
mod dictionary;
mod header;
pub(crate) mod layout;
mod lz4_block;

pub use header::{
    Encoding, FORMAT_VERSION, Header, LONGEST_HEADER, LONGEST_NAME, LONGEST_PAYLOAD, MAGIC,
    MOST_ATTRIBUTES, Unreadable,
};

#[cfg(test)]
mod tests;
