//! The CUDA driver of this machine, through `cust` and the driver's C interface.
//!
//! `cust` keeps contexts, buffers and streams. It does not load modules here: it hides the JIT log
//! and the code of a refusal, and its `CUresult` is a Rust enum, in which a code that it does not
//! list (a newer driver returns some) is undefined behaviour. So [`declarations`] declares the
//! functions again, with a result that holds any number.
//!
//! These types make the calls sound:
//!
//! * `LiveContext`: its context is retained or owned until it drops.
//! * [`CustModule`]: its module is loaded, and keeps its context. [`module::unload`] takes it by
//!   value.
//! * [`CustFunction`]: a number. Safe code launches only `Function<CustDriver>`, which keeps the
//!   module.

#![allow(unsafe_code, reason = "the driver's interface is C, and only this directory calls it")]

mod calls;
mod context;
mod declarations;
mod driver;
mod launch;
mod module;
mod options;
mod run;

pub use context::{CustContext, Entered};
pub use driver::CustDriver;
pub use launch::LaunchStream;
pub use module::{CustFunction, CustModule};
pub use run::Argument;
