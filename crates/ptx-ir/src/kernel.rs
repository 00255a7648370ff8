//! A kernel: its buffers, its workgroup, its variables and what its threads do.

use crate::dismantle::dismantle;
use crate::{LowerError, Statement, Type, check};

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Storage that is only read.
    Read,
    /// Storage that is only written.
    Write,
    /// Storage that is read and written.
    ReadWrite,
    /// Memory that the threads of a workgroup share, gone after it.
    Workgroup,
    /// A few values that every thread reads.
    Uniform,
}

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// 32-bit floating point.
    F32,
    /// Half precision, computed with as f32.
    F16,
    /// Brain float, computed with as f32.
    Bf16,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    I32,
}

impl Element {
    /// Bytes of one element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::U32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// What a loaded element is.
    pub const fn loaded(self) -> Type {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => Type::F32,
            Self::U32 => Type::U32,
            Self::I32 => Type::I32,
        }
    }
}

/// A buffer that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where it is bound. Parameters stand in the order of slots.
    pub slot: u32,
    /// How it is used.
    pub access: Access,
    /// What it holds.
    pub element: Element,
    /// How many elements: always for [`Access::Workgroup`]; elsewhere where the caller knows it,
    /// which changes no code but that of asynchronous copies.
    pub count: Option<u32>,
}

impl Buffer {
    /// Bytes of workgroup memory that it takes: each such buffer is aligned to 16 bytes.
    pub(crate) fn shared_bytes(&self) -> u64 {
        match self.access {
            Access::Workgroup => {
                let bytes = u64::from(self.count.unwrap_or(0)) * u64::from(self.element.bytes());
                bytes.next_multiple_of(16)
            }
            Access::Read | Access::Write | Access::ReadWrite | Access::Uniform => 0,
        }
    }
}

/// The threads that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workgroup {
    /// Extents in x, y and z.
    pub size: [u32; 3],
    /// Whether the kernel is written for just this size, so that a dispatch policy must not
    /// override it.
    pub fixed: bool,
}

/// All of a kernel, open for building and changing. [`Kernel::new`] checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelParts {
    /// The entry's name.
    pub name: String,
    /// The threads that run together.
    pub workgroup: Workgroup,
    /// The buffers; [`BufferId`](crate::BufferId) is a position here.
    pub buffers: Vec<Buffer>,
    /// The variables' types; [`VariableId`](crate::VariableId) is a position here. A variable is
    /// zero until it is assigned.
    pub variables: Vec<Type>,
    /// What each thread does.
    pub body: Vec<Statement>,
}

impl KernelParts {
    /// Bytes of workgroup memory that the buffers take together.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.buffers.iter().map(Buffer::shared_bytes).sum()
    }
}

/// A kernel that is known to be well-formed and well-typed: what is left to fail is what a
/// configuration asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel(KernelParts);

impl Kernel {
    /// Checks the parts.
    ///
    /// # Errors
    ///
    /// [`LowerError`] naming the kernel and what is wrong: a name, slot, type, size or use that
    /// cannot be, or nesting deeper than [`DEEPEST`](crate::DEEPEST).
    pub fn new(parts: KernelParts) -> Result<Self, LowerError> {
        match check::check(&parts) {
            Ok(()) => Ok(Self(parts)),
            Err(error) => {
                dismantle(parts);
                Err(error)
            }
        }
    }

    /// The parts.
    pub fn parts(&self) -> &KernelParts {
        &self.0
    }

    /// The parts, to change.
    pub fn into_parts(self) -> KernelParts {
        self.0
    }

    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}
