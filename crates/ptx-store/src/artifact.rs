//! What is an artifact? The output of a compiler, which tiers keep and caches serve.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::{Digest, KeyTrace};

use crate::Attributes;

/// PTX text with what is known of it.
pub type PtxArtifact = Artifact<Arc<str>>;

/// A cubin with what is known of it.
pub type CubinArtifact = Artifact<Arc<[u8]>>;

/// What a compiler made, with what is known of it. Every tier keeps all of it.
///
/// ```
/// use ptx_store::{Artifact, LaunchShape};
///
/// let mut artifact = Artifact::from(".version 8.0\n.target sm_90\n");
/// artifact.attributes.set_launch_shape(LaunchShape { grid: [0; 3], block: [256, 1, 1] });
/// assert_eq!(artifact.attributes.launch_shape().map(|shape| shape.block), Some([256, 1, 1]));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact<P = Arc<str>> {
    /// The text or the cubin.
    pub payload: P,
    /// What else is known: entry names, launch shape, and whatever the back end adds.
    pub attributes: Attributes,
    /// What computing it took on the machine that computed it. Zero stands for unknown: a cache
    /// that computes the artifact fills in the time that it measured.
    pub cost: Duration,
    /// The digest of the program's normalized lane. Artifacts that share it are variants of one
    /// program.
    pub family: Option<Digest>,
    /// The key's parts, which explain a later miss.
    pub trace: Option<Arc<KeyTrace>>,
}

/// The name under which a tier keeps the family beside the attributes.
const FAMILY: &str = "family";
/// The name under which a tier keeps the trace beside the attributes.
const TRACE: &str = "trace";

impl<P> Artifact<P> {
    /// An artifact with no attributes, of unknown cost.
    pub fn new(payload: impl Into<P>) -> Self {
        Self {
            payload: payload.into(),
            attributes: Attributes::default(),
            cost: Duration::ZERO,
            family: None,
            trace: None,
        }
    }

    /// Adds the key's trace, and the program's family from it.
    #[must_use]
    pub fn with_trace(self, trace: KeyTrace) -> Self {
        Self { family: Some(trace.program.normalized), trace: Some(Arc::new(trace)), ..self }
    }

    /// Sets the cost, where a compiler knows it better than the clock.
    #[must_use]
    pub fn with_cost(self, cost: Duration) -> Self {
        Self { cost, ..self }
    }

    /// The attributes as a tier writes them: family and trace are among them, by the names
    /// `family` and `trace`.
    pub fn stored_attributes(&self) -> Attributes {
        let mut stored = self.attributes.clone();
        if let Some(family) = &self.family {
            stored.set(FAMILY, *family.as_bytes());
        }
        if let Some(trace) = &self.trace {
            stored.set(TRACE, trace.to_bytes());
        }
        stored
    }

    /// The artifact that a tier wrote with [`stored_attributes`](Self::stored_attributes). A
    /// family or trace that this release cannot read is left out.
    pub fn from_stored(payload: P, mut attributes: Attributes, cost: Duration) -> Self {
        let family = attributes.remove(FAMILY).and_then(|bytes| (*bytes).try_into().ok());
        let trace = attributes.remove(TRACE).and_then(|bytes| KeyTrace::from_bytes(&bytes).ok());
        let (family, trace) = (family.map(Digest::from_bytes), trace.map(Arc::new));
        Self { payload, attributes, cost, family, trace }
    }
}

impl<P: Payload> Artifact<P> {
    /// The bytes of the payload and of the attributes. The trace is not counted.
    pub fn bytes(&self) -> u64 {
        self.payload.as_bytes().len() as u64 + self.attributes.bytes()
    }
}

impl From<String> for PtxArtifact {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for PtxArtifact {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<Arc<str>> for PtxArtifact {
    fn from(text: Arc<str>) -> Self {
        Self::new(text)
    }
}

impl<P: Payload> fmt::Debug for Artifact<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Artifact")
            .field("payload", &format_args!("{} bytes", self.payload.as_bytes().len()))
            .field("attributes", &self.attributes)
            .field("cost", &self.cost)
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}

/// The bytes that a compiler made: PTX text or a cubin.
pub trait Payload: Clone + Eq + fmt::Debug + Send + Sync + 'static {
    /// The bytes as a tier keeps them.
    fn as_bytes(&self) -> &[u8];

    /// The payload of these bytes. Returns `None` if the bytes are not a payload of this kind. A
    /// text must be UTF-8.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Payload for Arc<str> {
    fn as_bytes(&self) -> &[u8] {
        str::as_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(Self::from)
    }
}

impl Payload for Arc<[u8]> {
    fn as_bytes(&self) -> &[u8] {
        self
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(bytes.into())
    }
}
