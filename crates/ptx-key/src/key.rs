//! What is a key, and how does it print, sort and hash?

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::str::FromStr;

use crate::KeyError;

/// The length of a digest and of every key in bytes.
pub const DIGEST_BYTES: usize = 32;

macro_rules! digest_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name([u8; DIGEST_BYTES]);

        impl $name {
            /// Wraps 32 bytes that were stored or received.
            pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
                Self(bytes)
            }

            /// Returns the 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
                &self.0
            }

            /// Returns the first eight bytes as a little-endian number.
            ///
            /// The bytes come from SHA-256, so this is a uniform hash for the price of one load.
            /// Use it to choose a shard or a slot.
            pub const fn prefix(&self) -> u64 {
                let [a, b, c, d, e, f, g, h, ..] = self.0;
                u64::from_le_bytes([a, b, c, d, e, f, g, h])
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                state.write_u64(self.prefix());
            }
        }

        /// Prints 64 lower-case hexadecimal digits, or the first twelve with `{:.12}`.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0_u8; DIGEST_BYTES * 2];
                let digits = base16ct::lower::encode_str(&self.0, &mut text).map_err(|_| fmt::Error)?;
                f.pad(digits)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:.12}…)"), self)
            }
        }

        /// Reads 64 hexadecimal digits of either case.
        impl FromStr for $name {
            type Err = KeyError;

            fn from_str(text: &str) -> Result<Self, KeyError> {
                let mut bytes = [0_u8; DIGEST_BYTES];
                match base16ct::mixed::decode(text, &mut bytes) {
                    Ok(decoded) if decoded.len() == DIGEST_BYTES => Ok(Self(bytes)),
                    _ => Err(KeyError::NotHex { text: text.chars().take(80).collect() }),
                }
            }
        }
    };
}

digest_newtype! {
    /// A SHA-256 digest of a lane, a field or a file. It is not a key.
    Digest
}

digest_newtype! {
    /// The identity of one lowering: equal keys imply byte-equal PTX.
    ///
    /// [`KeyBuilder::key`](crate::KeyBuilder::key) computes it.
    PtxKey
}

digest_newtype! {
    /// The identity of one assembled module: PTX, device, assembler and JIT options.
    ///
    /// [`JitConfiguration`](crate::JitConfiguration) computes it.
    ModuleKey
}

/// Uses the first eight bytes of a key as its hash: a `HashMap<PtxKey, V, KeyHasher>` hashes
/// nothing. Other types hash weakly.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl BuildHasher for KeyHasher {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self::default()
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, prefix: u64) {
        self.0 = prefix;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
