//! Chooses which entries of a cache stay, under a count and a byte budget.
//!
//! A full cache should keep the set that is worth most, not the entries that are worth most one by
//! one: variants of one program stand in for each other, so each further variant is worth less.
//! Functions with such diminishing returns are called monotone submodular. Greedy choice comes
//! provably close to their best set.
//!
//! ```
//! use ptx_eviction::{Curve, Entry, Retainer, Size};
//!
//! let entry = |worth, bytes, family| Entry { worth, bytes, family, pinned: false };
//! let entries = [
//!     entry(9.0, 400, 1),
//!     entry(8.0, 400, 1), // a variant of the first, which discounts it
//!     entry(5.0, 400, 2),
//! ];
//! let mut retainer = Retainer::new(Curve::SquareRoot);
//! let kept = retainer.retain(&entries, Size { entries: 2, bytes: 900 })?;
//! assert_eq!(kept.entries, [0, 2]);
//! assert_eq!(kept.size, Size { entries: 2, bytes: 800 });
//! # Ok::<(), ptx_eviction::Error>(())
//! ```
//!
//! | item | what it answers |
//! | --- | --- |
//! | [`Retainer`] | which entries stay; [`Retainer::retain`] states the guarantees |
//! | [`Entry`] | what a cache says of one entry: worth, bytes, family, pinned |
//! | [`Size`] | how much: a number of entries and their bytes |
//! | [`Curve`] | how much each further variant of a family counts |
//! | [`Kept`] | the entries that stay, their value and their size |
//! | [`Error`] | why a choice was refused |
//!
//! The README says what a choice costs, what this crate does not do, and why it has its dependencies.

mod curve;
mod density_greedy;
mod error;
mod exact_search;
mod lazy_queue;
mod problem;
mod retainer;
mod selection;
mod size;
mod top_gains;

#[cfg(test)]
mod tests;

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use curve::Curve;
pub use error::Error;
pub use problem::Entry;
pub use retainer::{Kept, Retainer};
pub use size::Size;
