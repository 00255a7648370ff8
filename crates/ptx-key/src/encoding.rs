//! How are values written so that two different streams are two different byte strings?
//!
//! A stream is a sequence of tokens. Every token starts with a tag byte, which fixes how many
//! bytes follow, directly or by a length. So no token is a prefix of another, and the encoding is
//! injective. `ENCODING.md` specifies it.

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// States the version and the domains together, so that no domain has another version.
macro_rules! encoding {
    (version $version:literal: $($domain:ident => $name:literal,)+) => {
        /// What a stream is for. Its text is the first token of the stream, so streams of two
        /// purposes never collide, and neither do keys of two versions.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Domain {
            $($domain,)+
        }

        impl Domain {
            #[cfg(test)]
            const VERSION: u32 = $version;
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
    Directory => "folder",
}

/// Digests the tokens that `write` writes: `H(domain, tokens)` in `ENCODING.md`.
pub(crate) fn hash(domain: Domain, write: impl FnOnce(&mut Lanes)) -> Digest {
    hash_lanes(domain, None, write).0
}

/// Digests what `write` writes into a first lane and, if `exact` is given, into an exact lane.
pub(crate) fn hash_lanes(
    first: Domain,
    exact: Option<Domain>,
    write: impl FnOnce(&mut Lanes),
) -> (Digest, Option<Digest>) {
    let exact = exact.map(stream);
    let mut lanes = Lanes { first: stream(first), exact, exact_only: false };
    write(&mut lanes);
    (finish(lanes.first), lanes.exact.map(finish))
}

fn stream(domain: Domain) -> Sha256 {
    let mut lanes = Lanes { first: Sha256::new(), exact: None, exact_only: false };
    lanes.str(domain.text());
    lanes.first
}

fn finish(stream: Sha256) -> Digest {
    Digest::from_bytes(stream.finalize().into())
}

/// The two token streams of one program, written in one walk.
///
/// Each method writes one token into both lanes, except inside [`exact_only`](Self::exact_only).
/// The tokens keep values apart, not meanings: say what a value means by its position or by the
/// name of a [`record`](Self::record). Writing allocates nothing.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// A program's normalized lane, or the only stream of anything else.
    first: Sha256,
    exact: Option<Sha256>,
    /// True inside `exact_only`.
    exact_only: bool,
}

impl Lanes {
    /// Writes a truth value.
    pub fn bool(&mut self, value: bool) {
        self.write(&[b'b', u8::from(value)]);
    }

    /// Writes an unsigned integer. Widen smaller types to this one.
    pub fn u64(&mut self, value: u64) {
        self.tagged(b'u', value.to_le_bytes());
    }

    /// Writes a signed integer. Widen smaller types to this one.
    pub fn i64(&mut self, value: i64) {
        self.tagged(b'i', value.to_le_bytes());
    }

    /// Writes a single-precision number by its bits: `0.0` and `-0.0` differ, each NaN is itself.
    pub fn f32(&mut self, value: f32) {
        self.record("f32", |lanes| lanes.u64(value.to_bits().into()));
    }

    /// Writes a double-precision number by its bits: `0.0` and `-0.0` differ, each NaN is itself.
    ///
    /// Do not widen smaller types to this one: widening makes a signalling NaN quiet, so two
    /// programs that emit different text would share a key. Write an `f32` with [`f32`](Self::f32),
    /// and a half by its bits, as an integer in a [`record`](Self::record).
    pub fn f64(&mut self, value: f64) {
        self.tagged(b'f', value.to_bits().to_le_bytes());
    }

    /// Writes a text by its UTF-8 bytes, without normalization.
    pub fn str(&mut self, text: &str) {
        self.sized(b's', text.as_bytes());
    }

    /// Writes a byte string.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.sized(b'y', bytes);
    }

    /// Writes the digest of content that is hashed elsewhere.
    pub fn digest(&mut self, digest: &Digest) {
        self.write(b"d");
        self.write(digest.as_bytes());
    }

    /// Writes that a value is absent. This token differs from every value.
    pub fn absent(&mut self) {
        self.write(b"n");
    }

    /// Writes a named group around what `content` writes. A list needs no count, and groups nest.
    pub fn record(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.sized(b'(', name.as_bytes());
        content(self);
        self.write(b")");
    }

    /// Writes what the emitter ignores: it reaches the exact lane and not the normalized one.
    ///
    /// `content` does not run if only the normalized lane is wanted.
    pub fn exact_only(&mut self, content: impl FnOnce(&mut Self)) {
        if self.exact.is_some() {
            let outer = std::mem::replace(&mut self.exact_only, true);
            content(self);
            self.exact_only = outer;
        }
    }

    fn tagged(&mut self, tag: u8, value: [u8; 8]) {
        let mut token = [tag; 9];
        token[1..].copy_from_slice(&value);
        self.write(&token);
    }

    fn sized(&mut self, tag: u8, bytes: &[u8]) {
        // A slice never holds more than `isize::MAX` bytes, so the length always fits.
        self.tagged(tag, (bytes.len() as u64).to_le_bytes());
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.exact_only {
            self.first.update(bytes);
        }
        if let Some(exact) = &mut self.exact {
            exact.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
