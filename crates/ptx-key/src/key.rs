//! The 32-byte names: what they are made of, how they print, sort and hash.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::str::FromStr;

use crate::KeyError;

/// Bytes in a digest and in every key.
pub const DIGEST_BYTES: usize = 32;

macro_rules! digest_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name([u8; DIGEST_BYTES]);

        impl $name {
            /// Takes 32 bytes that were read from somewhere else as they are.
            pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
                &self.0
            }

            /// The first eight bytes, little-endian. The bytes come from SHA-256, so this is
            /// a uniform hash that costs one load: use it to choose a shard or a slot.
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

        /// 64 lower-case hexadecimal digits. A precision shortens it: `{:.12}` prints the
        /// first twelve digits.
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
    /// A SHA-256 digest: of a lane, of a field, of a file. Not a key by itself.
    Digest
}

digest_newtype! {
    /// The identity of one lowering: equal keys imply byte-equal PTX.
    ///
    /// Made by [`KeyBuilder`](crate::KeyBuilder).
    PtxKey
}

digest_newtype! {
    /// The identity of one assembled module: a lowering (or PTX text) together with the device,
    /// the assembler and the JIT options.
    ///
    /// Made by [`JitConfiguration`](crate::JitConfiguration).
    ModuleKey
}

/// Builds [`KeyHasher`]s: `HashMap<PtxKey, V, BuildKeyHasher>` hashes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildKeyHasher;

impl BuildHasher for BuildKeyHasher {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher::default()
    }
}

/// Passes the eight bytes that a key hands over on as the hash.
///
/// For keys of this crate only: any other input is folded in weakly.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

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
