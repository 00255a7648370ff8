//! Everything beside the program that reaches the emitter, in one value.

use crate::{DispatchPolicy, FeatureFlags, PtxIsa, Target, Toolchain};

/// Which emitter lowers, and which version of its output.
///
/// A back end raises the version with each change of the emitter that can change any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The back end's name.
    pub name: String,
    /// The emitter's version.
    pub version: u32,
}

impl Contract {
    /// The contract `name` at `version`.
    pub fn new(name: &str, version: u32) -> Self {
        Self { name: name.to_owned(), version }
    }
}

/// Everything beside the program that can reach the emitter.
///
/// Hand the same value to the emitter and to [`KeyBuilder`](crate::KeyBuilder), and give the
/// emitter nothing else: then nothing reaches the text without reaching the key. All fields are
/// public and there is no default, so a field cannot be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The emitter and its version.
    pub contract: Contract,
    /// The GPU target, `.target` in PTX.
    pub target: Target,
    /// The PTX ISA version, `.version` in PTX.
    pub isa: PtxIsa,
    /// Threads in a subgroup (warp).
    pub subgroup_size: u32,
    /// What the caller demands of the code.
    pub policy: DispatchPolicy,
    /// What the lowering may use.
    pub features: FeatureFlags,
    /// The external compiler, where the emitter calls one.
    pub toolchain: Option<Toolchain>,
}
