//! The injective encoding: a stream of self-delimiting tokens fed to SHA-256.
//!
//! Every token starts with a tag byte that fixes how many bytes follow, directly or by a length
//! that stands before them. So no token is a prefix of another, and two different token streams
//! are two different byte strings. `ENCODING.md` beside this crate is the specification.

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// States the version and the domains together: each domain's text is made from both, so that
/// they cannot disagree.
macro_rules! encoding {
    (version $version:literal: $($domain:ident => $name:literal,)+) => {
        /// Version of the encoding. It stands in every domain string, so that keys of two versions
        /// never meet.
        pub const ENCODING_VERSION: u32 = $version;

        /// What a stream is for. Its text is the stream's first token, so streams of two purposes
        /// never collide.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Domain {
            $($domain,)+
        }

        impl Domain {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$domain,)+];

            const fn text(self) -> &'static str {
                match self {
                    $(Self::$domain => concat!("ptx-key/", $version, "/", $name),)+
                }
            }
        }
    };
}

encoding! { version 1:
    NormalizedLane => "lane/normalized",
    ExactLane => "lane/exact",
    Field => "field",
    Configuration => "configuration",
    Ptx => "ptx",
    ModuleOfLowering => "module-of-lowering",
    ModuleOfText => "module-of-text",
    Folder => "folder",
}

/// Writes tokens into one SHA-256 state. Allocates nothing.
///
/// What is written must say what it means by its position or by a record's name: the encoder
/// keeps values apart, not meanings.
#[derive(Clone, Debug)]
pub struct Encoder {
    state: Sha256,
}

impl Encoder {
    pub(crate) fn new(domain: Domain) -> Self {
        let mut encoder = Self { state: Sha256::new() };
        encoder.str(domain.text());
        encoder
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) {
        self.state.update([b'b', u8::from(value)]);
    }

    /// An unsigned integer; smaller widths are written as this one.
    pub fn u64(&mut self, value: u64) {
        self.tagged(b'u', value.to_le_bytes());
    }

    /// A signed integer; smaller widths are written as this one.
    pub fn i64(&mut self, value: i64) {
        self.tagged(b'i', value.to_le_bytes());
    }

    /// A floating-point number by its bits: `0.0` and `-0.0` differ, each NaN is itself.
    pub fn f64(&mut self, value: f64) {
        self.tagged(b'f', value.to_bits().to_le_bytes());
    }

    /// A text by its UTF-8 bytes, not normalised.
    pub fn str(&mut self, text: &str) {
        self.sized(b's', text.as_bytes());
    }

    /// A byte string.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.sized(b'y', bytes);
    }

    /// A digest of content that was hashed elsewhere.
    pub fn digest(&mut self, digest: &Digest) {
        self.state.update(b"d");
        self.state.update(digest.as_bytes());
    }

    /// A value that is not there. It differs from every value that is.
    pub fn absent(&mut self) {
        self.state.update(b"n");
    }

    /// A named group: what `content` writes stands between an opening token that carries `name`
    /// and a closing token. Lists need no count and nesting is unambiguous.
    pub fn record(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.open(name);
        content(self);
        self.close();
    }

    pub(crate) fn open(&mut self, name: &str) {
        self.sized(b'(', name.as_bytes());
    }

    pub(crate) fn close(&mut self) {
        self.state.update(b")");
    }

    pub(crate) fn finish(self) -> Digest {
        Digest::from_bytes(self.state.finalize().into())
    }

    fn tagged(&mut self, tag: u8, value: [u8; 8]) {
        let mut token = [tag; 9];
        token[1..].copy_from_slice(&value);
        self.state.update(token);
    }

    fn sized(&mut self, tag: u8, bytes: &[u8]) {
        // A slice never holds more than `isize::MAX` bytes, so the length always fits.
        self.tagged(tag, (bytes.len() as u64).to_le_bytes());
        self.state.update(bytes);
    }
}

#[cfg(test)]
mod tests;
