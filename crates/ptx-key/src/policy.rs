//! How a back end was asked to lower: dispatch policy and feature flags.

use std::collections::{BTreeMap, BTreeSet};

use crate::Encoder;

/// A value of a field that a back end names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedValue {
    /// A truth value.
    Bool(bool),
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A text. Never a path: give the digits of the content's [`Digest`](crate::Digest).
    Text(String),
}

impl NamedValue {
    pub(crate) fn encode(&self, field: &mut Encoder) {
        match self {
            Self::Bool(value) => field.bool(*value),
            Self::Unsigned(value) => field.u64(*value),
            Self::Signed(value) => field.i64(*value),
            Self::Text(text) => field.str(text),
        }
    }
}

impl From<bool> for NamedValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for NamedValue {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<i64> for NamedValue {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<&str> for NamedValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What the caller demands of the code, beside the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchPolicy {
    /// The largest error that functions may have, in units in the last place; `None` leaves it
    /// to the back end.
    pub ulp_budget: Option<u32>,
    /// A workgroup size (x, y, z) in place of the program's own.
    pub workgroup_override: Option<[u32; 3]>,
    /// A back end's own fields, by name.
    pub named: BTreeMap<String, NamedValue>,
}

/// A capability that a lowering may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// Shuffles, votes and reductions within a subgroup (warp).
    SubgroupOps,
    /// Half-precision arithmetic.
    F16,
    /// Brain-float arithmetic.
    Bf16,
    /// Matrix multiply-accumulate on tensor cores.
    TensorCores,
    /// Copies that run beside computation (`cp.async` and its successors).
    AsyncCompute,
    /// Workgroups that stay resident and take work in a loop.
    PersistentThread,
}

impl Feature {
    /// Every feature, in order.
    pub const ALL: [Self; 6] = [
        Self::SubgroupOps,
        Self::F16,
        Self::Bf16,
        Self::TensorCores,
        Self::AsyncCompute,
        Self::PersistentThread,
    ];

    /// The name that stands in the key. It never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SubgroupOps => "subgroup-ops",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::TensorCores => "tensor-cores",
            Self::AsyncCompute => "async-compute",
            Self::PersistentThread => "persistent-thread",
        }
    }
}

/// The set of features that a lowering may use. A set: the order of adding does not count.
///
/// ```
/// use ptx_key::{Feature, FeatureFlags};
/// let flags = FeatureFlags::of([Feature::F16]).with_named("mybackend.block-scaled");
/// assert!(flags.contains(Feature::F16) && flags.contains_named("mybackend.block-scaled"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureFlags {
    pub(crate) known: BTreeSet<Feature>,
    pub(crate) named: BTreeSet<String>,
}

impl FeatureFlags {
    /// No feature.
    pub fn new() -> Self {
        Self::default()
    }

    /// These features.
    pub fn of(features: impl IntoIterator<Item = Feature>) -> Self {
        features.into_iter().collect()
    }

    /// Adds a feature.
    #[must_use]
    pub fn with(mut self, feature: Feature) -> Self {
        self.known.insert(feature);
        self
    }

    /// Adds a feature of the back end's own. It never equals one of [`Feature`], even by the
    /// same name.
    #[must_use]
    pub fn with_named(mut self, name: &str) -> Self {
        self.named.insert(name.to_owned());
        self
    }

    /// Whether the feature is in the set.
    pub fn contains(&self, feature: Feature) -> bool {
        self.known.contains(&feature)
    }

    /// Whether the back end's own feature is in the set.
    pub fn contains_named(&self, name: &str) -> bool {
        self.named.contains(name)
    }
}

impl FromIterator<Feature> for FeatureFlags {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        Self { known: features.into_iter().collect(), named: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests;
