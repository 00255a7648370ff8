//! What does the caller demand of the code, and what may the lowering use?

use std::collections::{BTreeMap, BTreeSet};

use crate::Lanes;

/// A value of a field that a backend names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedValue {
    /// A truth value.
    Bool(bool),
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A text. In place of a path, pass the digits of the content's [`Digest`](crate::Digest).
    Text(String),
}

impl NamedValue {
    pub(crate) fn encode(&self, field: &mut Lanes) {
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

/// What the caller demands of the code. The default demands nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchPolicy {
    /// The largest error of a function, in units in the last place. `None` leaves it to the
    /// backend.
    pub ulp_budget: Option<u32>,
    /// A workgroup size (x, y, z) that replaces the program's own.
    pub workgroup_override: Option<[u32; 3]>,
    /// Fields that the backend names itself.
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

    /// Returns the name that the key covers. It never changes.
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

/// The features that a lowering may use. The default is none.
///
/// ```
/// use ptx_key::{Feature, FeatureFlags};
///
/// let mut flags = FeatureFlags::of([Feature::F16]);
/// flags.named.insert("my-backend.block-scaled".to_owned());
/// assert!(flags.contains(Feature::F16));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureFlags {
    /// Features that every backend knows.
    pub known: BTreeSet<Feature>,
    /// Features that the backend names itself. Each differs from a [`Feature`] of the same name.
    pub named: BTreeSet<String>,
}

impl FeatureFlags {
    /// Creates a set of known features.
    pub fn of(features: impl IntoIterator<Item = Feature>) -> Self {
        Self { known: features.into_iter().collect(), named: BTreeSet::new() }
    }

    /// Returns true if the lowering may use the feature.
    pub fn contains(&self, feature: Feature) -> bool {
        self.known.contains(&feature)
    }
}

#[cfg(test)]
mod tests;
