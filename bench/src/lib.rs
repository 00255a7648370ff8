//! What benches share: rounds in turn, medians with their spread, and a report that a person and
//! a program can read.
//!
//! Machines are shared and noisy. So contenders take turns within one process, the order rotates
//! from round to round, and a difference inside the spread is called unresolved.
//!
//! `serde_json` writes the report's JSON, `plotters` its chart. The peers are dev-dependencies of
//! the benches that run them.

mod report;
mod rounds;

pub use report::{Cell, Report};
pub use rounds::{Spread, in_turn};
