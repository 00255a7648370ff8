//! How a text becomes machine code, and why it did not.

mod cubin;
mod explain;
mod header;
mod log;
mod options;
mod ptx;
mod ptxas;
mod quote;
mod refused;
mod tokens;

pub use cubin::Cubin;
#[cfg(test)]
pub(crate) use cubin::tests as cubin_tests;
pub(crate) use cubin::{HEADER_BYTES, smallest_cubin};
pub(crate) use explain::{Asked, refused_cubin, refused_ptx};
pub use header::PtxHeader;
pub use log::JitLog;
pub(crate) use options::check_for_driver;
pub use ptx::Ptx;
pub use ptxas::Ptxas;
#[cfg(all(test, unix))]
pub(crate) use ptxas::tests as ptxas_tests;
pub(crate) use quote::quoted;
pub use refused::{Reason, Refused};
pub(crate) use tokens::definitions;
