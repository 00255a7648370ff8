//! Runs contenders in turn and reports their medians and spreads, to a person and to a program.
//!
//! Machines are shared and noisy. So contenders take turns in one process, the order rotates from
//! round to round, and the report marks a difference inside the spread as unresolved.
//!
//! `serde_json` writes the report's JSON, `plotters` its chart. The peers are development
//! dependencies.

mod report;
mod rounds;

pub use report::{Cell, Report};
pub use rounds::{Spread, in_turn};
