//! A key's parts, kept beside the artifact so that a later miss can be explained.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::builder::{configuration_digest, ptx_key};
use crate::{DIGEST_BYTES, Digest, KeyError, ProgramDigests, PtxKey};

/// What the lanes are called beside the configuration's fields. No field's name begins so.
const LANES: &str = "program/";
/// What a stored trace begins with: the format's name and version.
const MAGIC: &[u8; 8] = b"ptxtrac1";

/// One named field of a configuration and the digest of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceField {
    /// The field's name, such as `target` or `policy/ulp_budget`.
    pub name: Cow<'static, str>,
    /// The digest of its value.
    pub digest: Digest,
}

/// A digest for each named field of one key.
///
/// The key is a digest of exactly these, so a trace can be checked against its key with
/// [`KeyTrace::key`].
///
/// ```
/// # use ptx_key::*;
/// # struct Saxpy;
/// # impl Identity for Saxpy {
/// #     fn identify(&self, lanes: &mut Lanes) { lanes.str("saxpy"); }
/// # }
/// # let mut configuration = Configuration {
/// #     contract: Contract::new("my-back-end", 3), target: "sm_90a".parse()?,
/// #     isa: "8.0".parse()?, subgroup_size: 32, policy: DispatchPolicy::default(),
/// #     features: FeatureFlags::new(), toolchain: None,
/// # };
/// let kept = KeyBuilder::new(&configuration)?.trace(&Saxpy);
/// configuration.target = "sm_90".parse()?;
/// configuration.features = configuration.features.with(Feature::F16);
/// let asked = KeyBuilder::new(&configuration)?.trace(&Saxpy);
///
/// let differences = kept.differences(&asked);
/// let text: Vec<String> = differences.iter().map(ToString::to_string).collect();
/// assert_eq!(text, ["feature/f16 added", "target changed"]);
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTrace {
    program: ProgramDigests,
    /// Sorted by name, each name once.
    configuration: Vec<TraceField>,
}

/// How one field of two traces differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the second has the field.
    Added,
    /// Only the first has the field.
    Removed,
    /// Both have it, with different values.
    Changed,
}

/// A field by which two keys differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's name; `program/normalized` and `program/exact` name the lanes.
    pub field: String,
    /// How it differs, from the first trace to the second.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Changed => "changed",
        };
        write!(f, "{} {change}", self.field)
    }
}

impl KeyTrace {
    /// `configuration` must be sorted by name, each name once.
    pub(crate) fn new(program: ProgramDigests, configuration: Vec<TraceField>) -> Self {
        Self { program, configuration }
    }

    /// The key that these parts make.
    pub fn key(&self) -> PtxKey {
        ptx_key(&self.program, &configuration_digest(&self.configuration))
    }

    /// What the program's lanes hash to.
    pub fn program(&self) -> &ProgramDigests {
        &self.program
    }

    /// The configuration's fields, sorted by name.
    pub fn configuration(&self) -> &[TraceField] {
        &self.configuration
    }

    /// The fields in which `other` differs from this trace, sorted by name. Empty exactly when
    /// the keys are equal.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (mine, theirs) = (self.named_digests(), other.named_digests());
        let mut differences = Vec::new();
        for (name, digest) in &mine {
            let change = match theirs.get(name) {
                Some(same) if same == digest => continue,
                Some(_) => Change::Changed,
                None => Change::Removed,
            };
            differences.push(Difference { field: (*name).to_owned(), change });
        }
        let added = theirs.keys().filter(|name| !mine.contains_key(*name));
        differences.extend(
            added.map(|name| Difference { field: (*name).to_owned(), change: Change::Added }),
        );
        differences.sort_by(|a, b| a.field.cmp(&b.field));
        differences
    }

    fn named_digests(&self) -> BTreeMap<&str, Digest> {
        let lanes = [
            Some(("program/normalized", self.program.normalized)),
            self.program.exact.map(|exact| ("program/exact", exact)),
        ];
        let fields = self.configuration.iter().map(|field| (field.name.as_ref(), field.digest));
        fields.chain(lanes.into_iter().flatten()).collect()
    }

    /// The trace as bytes, to store beside the artifact. See `ENCODING.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.program.normalized.as_bytes());
        bytes.push(u8::from(self.program.exact.is_some()));
        bytes.extend(self.program.exact.iter().flat_map(|exact| *exact.as_bytes()));
        for TraceField { name, digest } in &self.configuration {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend(digest.as_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. Accepts no other spelling of a trace, and
    /// takes memory in proportion to `bytes`, whatever they say.
    ///
    /// # Errors
    ///
    /// [`KeyError::DamagedTrace`] on anything else, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let damaged = |reason| KeyError::DamagedTrace { reason };
        let mut rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| damaged("it does not begin as a trace of this version"))?;
        let normalized = take_digest(&mut rest)?;
        let exact = match take(&mut rest)? {
            [0] => None,
            [1] => Some(take_digest(&mut rest)?),
            _ => return Err(damaged("the exact lane is neither there nor absent")),
        };
        let mut configuration: Vec<TraceField> = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(*take(&mut rest)?);
            let (name, behind) = usize::try_from(length)
                .ok()
                .and_then(|length| rest.split_at_checked(length))
                .ok_or_else(|| damaged("it is cut short"))?;
            rest = behind;
            let name = std::str::from_utf8(name)
                .map_err(|_| damaged("a field's name is not UTF-8"))?
                .to_owned();
            if configuration.last().is_some_and(|last| *last.name >= *name) {
                return Err(damaged("its fields are not in order"));
            }
            if name.starts_with(LANES) {
                return Err(damaged("a field is named as a lane"));
            }
            let digest = take_digest(&mut rest)?;
            configuration.push(TraceField { name: name.into(), digest });
        }
        Ok(Self::new(ProgramDigests { normalized, exact }, configuration))
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], KeyError> {
    let (taken, behind) =
        rest.split_first_chunk().ok_or(KeyError::DamagedTrace { reason: "it is cut short" })?;
    *rest = behind;
    Ok(taken)
}

fn take_digest(rest: &mut &[u8]) -> Result<Digest, KeyError> {
    take::<DIGEST_BYTES>(rest).map(|bytes| Digest::from_bytes(*bytes))
}

#[cfg(test)]
mod tests;
