//! Why did a lookup miss? A trace keeps the parts of a key beside the artifact.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::{DIGEST_BYTES, Digest, KeyError, ProgramDigests};

/// The names of the lanes start so. No field of a configuration does.
const LANES: &str = "program/";
/// A stored trace starts with the name and the version of its format.
const MAGIC: &[u8; 8] = b"ptxtrac1";

/// One named field of a configuration and the digest of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceField {
    /// Such as `target` or `policy/ulp_budget`.
    pub(crate) name: Cow<'static, str>,
    pub(crate) digest: Digest,
}

/// The parts of one key: a digest for each lane and for each named field.
///
/// Store it with the artifact, and [`differences`](Self::differences) explains a later miss. The
/// key is a digest of exactly these parts, so [`key`](Self::key) checks a trace against its key.
///
/// ```
/// # use ptx_key::*;
/// # struct Saxpy;
/// # impl Identity for Saxpy {
/// #     fn identify(&self, lanes: &mut Lanes) { lanes.str("saxpy"); }
/// # }
/// # let mut configuration = Configuration {
/// #     contract: Contract::new("my-backend", 3), target: "sm_90a".parse()?,
/// #     isa: "8.0".parse()?, subgroup_size: 32, policy: DispatchPolicy::default(),
/// #     features: FeatureFlags::default(), toolchain: None,
/// # };
/// let stored = KeyBuilder::new(&configuration)?.trace(&Saxpy);
/// configuration.target = "sm_90".parse()?;
/// configuration.features = FeatureFlags::of([Feature::F16]);
/// let requested = KeyBuilder::new(&configuration)?.trace(&Saxpy);
///
/// let differences = stored.differences(&requested);
/// let text: Vec<String> = differences.iter().map(ToString::to_string).collect();
/// assert_eq!(text, ["feature/f16 added", "target changed"]);
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTrace {
    /// The digests of the program's lanes.
    pub program: ProgramDigests,
    /// Sorted by name, each name once. All traces of one builder share it.
    pub(crate) configuration: Arc<[TraceField]>,
}

/// A field in which two traces differ. It prints as `target changed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's name. `program/normalized` and `program/exact` are the lanes.
    pub field: String,
    /// The digest in the first trace. `None` if the second adds the field.
    pub before: Option<Digest>,
    /// The digest in the second trace. `None` if the second removes the field.
    pub after: Option<Digest>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match (self.before, self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        write!(f, "{} {change}", self.field)
    }
}

impl KeyTrace {
    /// Lists the names of the configuration's fields and the digests of their values, sorted.
    pub fn configuration(&self) -> impl ExactSizeIterator<Item = (&str, &Digest)> {
        self.configuration.iter().map(|field| (&*field.name, &field.digest))
    }

    /// Lists the fields in which two traces differ, sorted by name.
    ///
    /// The list is empty exactly if the keys are equal.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (before, after) = (self.named_digests(), other.named_digests());
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        let differences = names.into_iter().map(|name| Difference {
            field: name.to_owned(),
            before: before.get(name).copied(),
            after: after.get(name).copied(),
        });
        differences.filter(|difference| difference.before != difference.after).collect()
    }

    fn named_digests(&self) -> BTreeMap<&str, Digest> {
        let lanes = [
            Some(("program/normalized", self.program.normalized)),
            self.program.exact.map(|exact| ("program/exact", exact)),
        ];
        let fields = self.configuration().map(|(name, digest)| (name, *digest));
        fields.chain(lanes.into_iter().flatten()).collect()
    }

    /// Encodes the trace as bytes to store beside the artifact. `ENCODING.md` specifies them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.program.normalized.as_bytes());
        bytes.push(u8::from(self.program.exact.is_some()));
        bytes.extend(self.program.exact.iter().flat_map(|exact| *exact.as_bytes()));
        for (name, digest) in self.configuration() {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend(digest.as_bytes());
        }
        bytes
    }

    /// Decodes the bytes that [`to_bytes`](Self::to_bytes) returns.
    ///
    /// It accepts one spelling of each trace. It allocates in proportion to the length of `bytes`,
    /// for any content.
    ///
    /// # Errors
    ///
    /// [`KeyError::DamagedTrace`] for all other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let mut rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| damaged("it does not start with the name of this format"))?;
        let normalized = take_digest(&mut rest)?;
        let exact = match take(&mut rest)? {
            [0] => None,
            [1] => Some(take_digest(&mut rest)?),
            _ => return Err(damaged("the exact lane is neither present nor absent")),
        };
        let mut configuration: Vec<TraceField> = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(*take(&mut rest)?);
            let (name, tail) = usize::try_from(length)
                .ok()
                .and_then(|length| rest.split_at_checked(length))
                .ok_or_else(|| damaged("it is cut short"))?;
            rest = tail;
            let name = std::str::from_utf8(name)
                .map_err(|_| damaged("a field's name is not UTF-8"))?
                .to_owned();
            if configuration.last().is_some_and(|last| *last.name >= *name) {
                return Err(damaged("its fields are not in order"));
            }
            if name.starts_with(LANES) {
                return Err(damaged("a field has the name of a lane"));
            }
            let digest = take_digest(&mut rest)?;
            configuration.push(TraceField { name: name.into(), digest });
        }
        let program = ProgramDigests { normalized, exact };
        Ok(Self { program, configuration: configuration.into() })
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], KeyError> {
    let (taken, tail) = rest.split_first_chunk().ok_or_else(|| damaged("it is cut short"))?;
    *rest = tail;
    Ok(taken)
}

fn take_digest(rest: &mut &[u8]) -> Result<Digest, KeyError> {
    take::<DIGEST_BYTES>(rest).map(|bytes| Digest::from_bytes(*bytes))
}

fn damaged(reason: &'static str) -> KeyError {
    KeyError::DamagedTrace { reason }
}

#[cfg(test)]
mod tests;
