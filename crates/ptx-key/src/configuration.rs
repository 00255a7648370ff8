//! What reaches the emitter beside the program?

use crate::{DispatchPolicy, FeatureFlags, PtxIsa, Target, Toolchain};

/// Which emitter lowers, and the version of its output.
///
/// Raise the version with every change of the emitter that can change any text, or an attribute that
/// is kept beside it: a stored artifact is served as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The backend's name.
    pub name: String,
    /// The emitter's version.
    pub version: u32,
}

impl Contract {
    /// Creates the contract `name` at `version`.
    pub fn new(name: &str, version: u32) -> Self {
        Self { name: name.to_owned(), version }
    }
}

/// Everything beside the program that can reach the emitter.
///
/// Pass the same value to the emitter and to [`KeyBuilder`](crate::KeyBuilder), and nothing else
/// to the emitter: then nothing reaches the text without reaching the key. There is no default, so
/// no field can be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The emitter and its version.
    pub contract: Contract,
    /// The GPU target, `.target` in PTX.
    pub target: Target,
    /// The PTX ISA version, `.version` in PTX.
    pub isa: PtxIsa,
    /// The number of threads in a subgroup (warp).
    pub subgroup_size: u32,
    /// What the caller demands of the code.
    pub policy: DispatchPolicy,
    /// What the lowering may use.
    pub features: FeatureFlags,
    /// The external compiler, if the emitter calls one.
    pub toolchain: Option<Toolchain>,
}
