//! Why a kernel is not one, or cannot be lowered as asked.

use ptx_key::{PtxIsa, Target};

use crate::Type;

/// What is wrong with a kernel, or with what was asked of the emitter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The kernel's name is not a PTX identifier.
    #[error(
        "`{name}` cannot name a kernel: use letters, digits and underscores, a letter first, at \
         most 200 of them"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two buffers have the same binding slot.
    #[error("kernel `{kernel}`: two buffers are bound to slot {slot}; give each its own")]
    SlotTwice {
        /// The kernel.
        kernel: String,
        /// The slot.
        slot: u32,
    },
    /// A workgroup buffer has no size, or one that no device has.
    #[error(
        "kernel `{kernel}`: the workgroup buffer at slot {slot} needs a count of elements, and \
         all of them together at most 48 KiB"
    )]
    SharedSize {
        /// The kernel.
        kernel: String,
        /// The slot of the buffer.
        slot: u32,
    },
    /// More buffers than there is room for parameters.
    #[error("kernel `{kernel}`: it has more than {limit} buffers; put several into one")]
    Buffers {
        /// The kernel.
        kernel: String,
        /// The limit.
        limit: usize,
    },
    /// A workgroup that no device runs.
    #[error(
        "kernel `{kernel}`: no device runs a workgroup of {size:?}; each extent must be at least 1 \
         and the product at most 1024"
    )]
    Workgroup {
        /// The kernel.
        kernel: String,
        /// The extents.
        size: [u32; 3],
    },
    /// An operand has the wrong type.
    #[error("kernel `{kernel}`, {path}: {place} needs {expected}, not {found}; cast it")]
    Type {
        /// The kernel.
        kernel: String,
        /// The statement, as `body[2].then[0]`.
        path: String,
        /// What of it.
        place: &'static str,
        /// What is needed there.
        expected: &'static str,
        /// What is there.
        found: Type,
    },
    /// A buffer or variable that the kernel does not have, or that cannot be used so.
    #[error("kernel `{kernel}`, {path}: {place}: {what}")]
    Use {
        /// The kernel.
        kernel: String,
        /// The statement, as `body[2].then[0]`.
        path: String,
        /// What of it.
        place: &'static str,
        /// What is wrong and what to do.
        what: &'static str,
    },
    /// Statements or expressions nest too deeply.
    #[error("kernel `{kernel}`, {path}: nested more than {limit} deep; put parts into variables")]
    Depth {
        /// The kernel.
        kernel: String,
        /// The statement, as `body[2].then[0]`.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// The emitter does not know the target.
    #[error("target `{target}` is not one that this emitter knows: {known}")]
    Target {
        /// The target.
        target: Target,
        /// Those that it knows.
        known: String,
    },
    /// The PTX ISA version is too old for the target or for an instruction.
    #[error("{what} needs PTX ISA {needed} or newer, and {asked} was asked for")]
    Isa {
        /// What needs it.
        what: String,
        /// The oldest version that will do.
        needed: PtxIsa,
        /// The version that was asked for.
        asked: PtxIsa,
    },
    /// The configuration asks for what the kernel or the target cannot do.
    #[error("kernel `{kernel}`: {what}")]
    Configuration {
        /// The kernel.
        kernel: String,
        /// What is asked and what to ask instead.
        what: String,
    },
}

impl LowerError {
    /// The error with the statement it is in: number `number` of `block`.
    pub(crate) fn in_statement(mut self, block: &str, number: usize) -> Self {
        if let Self::Type { path, .. } | Self::Use { path, .. } | Self::Depth { path, .. } =
            &mut self
        {
            let within = if path.is_empty() { "" } else { "." };
            *path = format!("{block}[{number}]{within}{path}");
        }
        self
    }
}
