//! A small kernel IR with a PTX emitter: the lowering that identity is tested against.
//!
//! A [`Kernel`] has buffers, a workgroup size, variables and statements, enough for saxpy, a tiled
//! matrix product, reductions by shuffle, atomics, softmax and a pipeline of asynchronous copies
//! ([`mod@reference`]). [`lower`] makes PTX of it under a [`Configuration`](ptx_key::Configuration),
//! and [`Kernel`] implements [`Identity`](ptx_key::Identity), so that the same two values make the
//! key.
//!
//! ```
//! use ptx_ir::{Access, Element, KernelBuilder, lower, x};
//! use ptx_key::{Configuration, Contract, DispatchPolicy, FeatureFlags, KeyBuilder};
//!
//! let mut kernel = KernelBuilder::new("double", [256, 1, 1]);
//! let values = kernel.buffer(0, Access::ReadWrite, Element::F32, None);
//! let i = kernel.variable(x());
//! kernel.when(i.value().less(values.length()), |kernel| {
//!     kernel.store(values, i, values.at(i) * 2.0);
//! });
//! let kernel = kernel.finish()?;
//!
//! let configuration = Configuration {
//!     contract: Contract::new("ptx-ir", ptx_ir::CONTRACT_VERSION),
//!     target: "sm_90".parse()?,
//!     isa: "8.0".parse()?,
//!     subgroup_size: 32,
//!     policy: DispatchPolicy::default(),
//!     features: FeatureFlags::default(),
//!     toolchain: None,
//! };
//! let text = lower(&kernel, &configuration)?;
//! assert!(text.contains(".visible .entry double("));
//! let key = KeyBuilder::new(&configuration)?.key(&kernel);
//! # let _ = key;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is not
//!
//! Not a compiler: it optimises nothing and leaves that to `ptxas`. Storage lengths are passed at
//! launch and left out of the normalized lane; an asynchronous copy from a buffer whose count is
//! known bakes the count into the code, which is why keys take the exact lane too.
//!
//! # Dependencies
//!
//! `thiserror` derives the error type. `proptest`, behind the feature `arbitrary`, generates
//! kernels for property tests. The tests run the emitted text on a machine of their own, with halves
//! from `half`.

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod builder;
mod check;
mod dismantle;
mod emit;
mod error;
mod expression;
mod identity;
mod interface;
mod kernel;
pub mod reference;
mod statement;
mod targets;

pub use builder::{KernelBuilder, local, workgroup, x, y};
pub use check::DEEPEST;
pub use emit::lower;
pub use error::LowerError;
pub use expression::{
    Axis, Binary, BufferId, Comparison, Expression, Index, Type, Unary, VariableId,
};
pub use interface::{Interface, Parameter};
pub use kernel::{Access, Buffer, Element, Kernel, KernelParts, Workgroup};
pub use statement::{Reduction, Statement};
pub use targets::oldest_isa;

/// The version of this emitter's output, for [`Contract`](ptx_key::Contract): raised with every
/// change that can change a text.
pub const CONTRACT_VERSION: u32 = 1;
