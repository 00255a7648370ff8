//! Why is a kernel refused?

use ptx_key::{PtxIsa, Target};

/// What is wrong with a kernel, or with what a configuration asks of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The kernel is invalid.
    #[error("kernel `{kernel}`: {what}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What is wrong and what to do, with the statement as `body[2].then[0]`.
        what: String,
    },
    /// The configuration asks for what the kernel or the target cannot do.
    #[error("kernel `{kernel}`: {what}")]
    Configuration {
        /// The kernel.
        kernel: String,
        /// What is asked and what to ask instead.
        what: String,
    },
    /// The emitter does not know the target.
    #[error("target `{target}` is unknown; use one of {known}")]
    Target {
        /// The target.
        target: Target,
        /// The targets that the emitter knows.
        known: String,
    },
    /// The PTX ISA version is too old for the target.
    #[error("target {target} needs PTX ISA {needed} or newer, not {asked}")]
    Isa {
        /// The target.
        target: Target,
        /// The oldest version that knows the target.
        needed: PtxIsa,
        /// The version of the configuration.
        asked: PtxIsa,
    },
}
