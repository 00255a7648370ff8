//! Which keys name artifacts, and what each names.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use ptx_key::{DIGEST_BYTES, ModuleKey, PtxKey};

use crate::Payload;

/// A key that names artifacts of one kind: a [`PtxKey`] names texts, a [`ModuleKey`] cubins.
pub trait ArtifactKey:
    Copy + Ord + Hash + fmt::Debug + fmt::Display + Into<EntryKey> + Send + Sync + 'static
{
    /// What the key names.
    type Payload: Payload;
}

impl ArtifactKey for PtxKey {
    type Payload = Arc<str>;
}

impl ArtifactKey for ModuleKey {
    type Payload = Arc<[u8]>;
}

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// PTX text, named by a [`PtxKey`].
    Ptx,
    /// A cubin, named by a [`ModuleKey`].
    Cubin,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
        })
    }
}

/// The key of an entry of either kind, for lists that mix both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// Names PTX text.
    Ptx(PtxKey),
    /// Names a cubin.
    Cubin(ModuleKey),
}

impl EntryKey {
    /// Makes a key of this kind from its bytes.
    pub const fn from_bytes(kind: Kind, bytes: [u8; DIGEST_BYTES]) -> Self {
        match kind {
            Kind::Ptx => Self::Ptx(PtxKey::from_bytes(bytes)),
            Kind::Cubin => Self::Cubin(ModuleKey::from_bytes(bytes)),
        }
    }

    /// The kind of payload that the key names.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Ptx(_) => Kind::Ptx,
            Self::Cubin(_) => Kind::Cubin,
        }
    }

    /// The key's 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
        match self {
            Self::Ptx(key) => key.as_bytes(),
            Self::Cubin(key) => key.as_bytes(),
        }
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx(key) => key.fmt(f),
            Self::Cubin(key) => key.fmt(f),
        }
    }
}

impl From<PtxKey> for EntryKey {
    fn from(key: PtxKey) -> Self {
        Self::Ptx(key)
    }
}

impl From<ModuleKey> for EntryKey {
    fn from(key: ModuleKey) -> Self {
        Self::Cubin(key)
    }
}
