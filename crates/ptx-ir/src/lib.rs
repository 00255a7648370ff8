#![doc = include_str!("../README.md")]

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod builder;
mod check;
mod emit;
mod error;
mod expression;
mod identity;
mod interface;
mod kernel;
mod parts;
pub mod reference;
mod statement;
mod targets;

pub use builder::x;
pub use emit::lower;
pub use error::LowerError;
pub use expression::{
    Axis, Binary, BufferId, Comparison, Expression, Index, Type, Unary, VariableId,
};
pub use interface::{Interface, Parameter};
pub use kernel::Kernel;
pub use parts::{Access, Buffer, Element, KernelParts};
pub use statement::{Reduction, Statement};
pub use targets::oldest_isa;

/// The version of the emitter's output, for [`Contract`](ptx_key::Contract). Every change that can
/// change a text raises it.
pub const CONTRACT_VERSION: u32 = 1;
