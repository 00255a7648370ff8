//! What is a kernel made of?

use crate::{Statement, Type};

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Storage that is only read.
    Read,
    /// Storage that is read and written.
    ReadWrite,
    /// Memory that the threads of one workgroup share.
    Workgroup,
}

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// 32-bit floating point.
    F32,
    /// Half precision. Arithmetic is on f32.
    F16,
    /// Brain float. Arithmetic is on f32.
    Bf16,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    I32,
}

impl Element {
    /// The size of one element in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::U32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The type of a loaded element.
    pub(crate) const fn loaded(self) -> Type {
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
    /// The binding slot. Parameters are in the order of slots.
    pub slot: u32,
    /// How the kernel uses it.
    pub access: Access,
    /// What it holds.
    pub element: Element,
    /// The number of elements. [`Access::Workgroup`] needs it. For other buffers it changes only the
    /// code of asynchronous copies.
    pub count: Option<u32>,
}

impl Buffer {
    /// The bytes of workgroup memory that the buffer declares.
    pub(crate) fn shared_bytes(&self) -> u64 {
        match (self.access, self.count) {
            (Access::Workgroup, Some(count)) => u64::from(count) * u64::from(self.element.bytes()),
            _ => 0,
        }
    }
}

/// An unchecked kernel. Its methods build it in the order in which it runs; `Kernel::new` checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelParts {
    /// The name of the entry.
    pub name: String,
    /// The threads of a workgroup in x, y and z, unless a dispatch policy overrides them.
    pub workgroup: [u32; 3],
    /// True if the kernel works only with this workgroup: an override is then an error.
    pub fixed_workgroup: bool,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The types of the variables. A variable is zero until it is assigned.
    pub variables: Vec<Type>,
    /// What each thread does.
    pub body: Vec<Statement>,
}

impl KernelParts {
    /// The bytes of workgroup memory that all buffers take. Each is aligned to 16 bytes.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.shared_bytes().next_multiple_of(16)).sum()
    }
}
