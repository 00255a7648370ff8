//! What is kept: a payload, what is known of its making, and the key it is kept under.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptx_key::{DIGEST_BYTES, Digest, KeyTrace, ModuleKey, PtxKey};

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// PTX text, kept under a [`PtxKey`].
    Ptx,
    /// A cubin, kept under a [`ModuleKey`].
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

/// The key of an entry: a [`PtxKey`] or a [`ModuleKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// Names PTX text.
    Ptx(PtxKey),
    /// Names a cubin.
    Cubin(ModuleKey),
}

impl EntryKey {
    /// A key of this kind with these bytes.
    pub const fn from_bytes(kind: Kind, bytes: [u8; DIGEST_BYTES]) -> Self {
        match kind {
            Kind::Ptx => Self::Ptx(PtxKey::from_bytes(bytes)),
            Kind::Cubin => Self::Cubin(ModuleKey::from_bytes(bytes)),
        }
    }

    /// What it names.
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

impl EntryKey {
    /// The number of the folder that its entry is in.
    pub(crate) const fn folder(&self) -> u8 {
        let [first, ..] = *self.as_bytes();
        first
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

impl From<&PtxKey> for EntryKey {
    fn from(key: &PtxKey) -> Self {
        Self::Ptx(*key)
    }
}

impl From<ModuleKey> for EntryKey {
    fn from(key: ModuleKey) -> Self {
        Self::Cubin(key)
    }
}

impl From<&ModuleKey> for EntryKey {
    fn from(key: &ModuleKey) -> Self {
        Self::Cubin(*key)
    }
}

/// PTX text or a cubin.
#[derive(Clone, PartialEq, Eq)]
pub enum Payload {
    /// PTX text.
    Ptx(Arc<str>),
    /// An ELF image for one GPU.
    Cubin(Arc<[u8]>),
}

impl Payload {
    /// Which of the two.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Ptx(_) => Kind::Ptx,
            Self::Cubin(_) => Kind::Cubin,
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Ptx(text) => text.as_bytes(),
            Self::Cubin(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.kind(), self.as_bytes().len())
    }
}

/// A payload with what is known of its making.
///
/// ```
/// use std::time::Duration;
/// use ptx_disk::{Attributes, Entry};
///
/// let mut entry = Entry::ptx(".version 8.0\n.target sm_90\n", Duration::from_millis(12));
/// entry.attributes.set(Attributes::KERNEL, "saxpy");
/// assert_eq!(entry.attributes.text(Attributes::KERNEL), Some("saxpy"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The payload.
    pub payload: Payload,
    /// What making it took when it was made; stored in whole nanoseconds, at most `u64::MAX`.
    pub cost: Duration,
    /// When it was made; stored in nanoseconds since 1970, the nearest that a `u64` can say.
    pub created: SystemTime,
    /// The program that made it, such as `my-back-end 1.4`. At most 255 bytes are stored.
    pub producer: String,
    /// Whatever else is known.
    pub attributes: Attributes,
}

impl Entry {
    /// PTX text that was made just now, at this cost.
    pub fn ptx(text: impl Into<Arc<str>>, cost: Duration) -> Self {
        Self::new(Payload::Ptx(text.into()), cost)
    }

    /// A cubin that was made just now, at this cost.
    pub fn cubin(bytes: impl Into<Arc<[u8]>>, cost: Duration) -> Self {
        Self::new(Payload::Cubin(bytes.into()), cost)
    }

    fn new(payload: Payload, cost: Duration) -> Self {
        Self {
            payload,
            cost,
            created: SystemTime::now(),
            producer: String::new(),
            attributes: Attributes::default(),
        }
    }
}

/// Named values beside a payload, sorted by name. The names that this crate knows are constants
/// here; a back end may add its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, Vec<u8>>);

impl Attributes {
    /// The kernel's name, as text.
    pub const KERNEL: &'static str = "kernel";
    /// The target, such as `sm_90a`, as text.
    pub const TARGET: &'static str = "target";
    /// The digest of the program's normalized lane, 32 bytes.
    pub const FAMILY: &'static str = "family";
    /// The key's parts, as [`KeyTrace::to_bytes`] writes them.
    pub const TRACE: &'static str = "trace";
    /// Where an imported entry came from, as text. An entry made here has none.
    pub const ORIGIN: &'static str = "origin";

    /// Sets a value. The format's limits are checked when the entry is stored.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.0.remove(name)
    }

    /// A value's bytes.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// A value that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// The digest that variants of one program share.
    pub fn family(&self) -> Option<Digest> {
        self.get(Self::FAMILY)?.try_into().ok().map(Digest::from_bytes)
    }

    /// The key's parts; `None` also where they are of a version that this release cannot read.
    pub fn trace(&self) -> Option<KeyTrace> {
        KeyTrace::from_bytes(self.get(Self::TRACE)?).ok()
    }

    /// All of them, by name.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Vec<u8>> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = (&'a String, &'a Vec<u8>);
    type IntoIter = btree_map::Iter<'a, String, Vec<u8>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
