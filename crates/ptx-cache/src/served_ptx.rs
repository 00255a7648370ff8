//! What a lowering gives, and what a request gets.

use std::fmt;
use std::sync::Arc;

use ptx_key::{Digest, KeyTrace};

/// What a lowering gives: the text, and what is to be kept beside it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The PTX text.
    pub text: Arc<str>,
    /// The digest of the program's normalized lane.
    pub family: Option<Digest>,
    /// The key's parts, to explain a later miss.
    pub trace: Option<Arc<KeyTrace>>,
}

impl Lowered {
    /// Adds the key's trace, and the program's family from it.
    #[must_use]
    pub fn with_trace(self, trace: KeyTrace) -> Self {
        Self { family: Some(trace.program().normalized), trace: Some(Arc::new(trace)), ..self }
    }
}

impl<T: Into<Arc<str>>> From<T> for Lowered {
    fn from(text: T) -> Self {
        Self { text: text.into(), family: None, trace: None }
    }
}

/// Where a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was in memory.
    Memory,
    /// The tier of this name had it.
    Tier(String),
    /// This request lowered it.
    Lowered,
    /// Another thread was loading or lowering it; this request waited.
    Coalesced,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Memory => "memory",
            Self::Tier(name) => name,
            Self::Lowered => "lowered",
            Self::Coalesced => "coalesced",
        })
    }
}

/// A text and where it came from.
#[derive(Clone, Debug)]
pub struct ServedPtx {
    /// The PTX text.
    pub text: Arc<str>,
    /// Where it came from.
    pub source: Source,
}
