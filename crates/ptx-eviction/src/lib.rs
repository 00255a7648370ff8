//! Chooses which entries stay: monotone submodular maximisation under count and byte budgets.
//!
//! A cache that is full keeps the set that is worth most, not the entries that are worth most one by one:
//! variants of one program stand in for each other, so each further one is worth less. Functions with such
//! diminishing returns are called submodular, and greedy choice comes provably close to the best set. This crate
//! has the functions, the budgets and the solvers. It knows nothing of caches, time or PTX.
//!
//! ```
//! use ptx_eviction::{ConcaveOverGroups, Constraint, Curve, Scratch, density_greedy};
//!
//! // Four entries of two families: what each is worth, its bytes, and its family.
//! let worths = [9.0, 8.0, 5.0, 1.0];
//! let sizes = [400, 400, 400, 100];
//! let families = [0, 0, 1, 1];
//!
//! let objective = ConcaveOverGroups::new(&worths, &families, Curve::SquareRoot)?;
//! let budgets = Constraint::new().at_most(3).within_bytes(&sizes, 900).pinned(&[3]);
//! let mut scratch = Scratch::default();
//! let kept = density_greedy(&objective, &budgets, &mut scratch)?;
//! assert_eq!(kept.elements, [0, 2, 3]);
//! assert_eq!(kept.bytes, 900);
//! # Ok::<(), ptx_eviction::Error>(())
//! ```
//!
//! A cache that only wants an answer hands its entries to a [`Retainer`].
//!
//! # What there is
//!
//! An [`Objective`] tells what one more element would add to a partial selection: [`Modular`],
//! [`ConcaveOverGroups`], [`FacilityLocation`], a [`WeightedSum`] of these, or your own, which
//! [`verify_submodular`] puts to the test. A [`Constraint`] says which sets are feasible. A solver finds one:
//!
//! | solver | count | cap on groups | bytes | bytes and count | gains asked for |
//! | --- | --- | --- | --- | --- | --- |
//! | [`lazy_greedy`] | 1 − 1/e | 1/2 | none | none | about `n` |
//! | [`density_greedy`] | 1 − 1/e | 1/2 | 1/2 | 0.197 | about `4n` |
//! | [`exact_search`], at most 14 candidates | 1 | 1 | 1 | 1 | up to `2¹⁴` |
//! | [`stochastic_greedy`] | 1 − 1/e − ε, expected | – | – | – | `n·ln(1/ε)` |
//! | [`SieveStreaming`], one pass | 1/2 − ε | – | – | – | `n·log(count)/ε` |
//!
//! Shares of the optimum, proven where each solver's doc says; in practice they are nearly always closer. Pinned
//! elements are understood by every solver but the sieve. A modular objective under a count alone is solved
//! exactly, by selection, in O(n).
//!
//! # What holds everywhere
//!
//! * Elements are the indices `0..n`, below `u32::MAX` of them. Ties go to the lower index, so sort by key where
//!   runs must repeat. Randomness comes from a seed alone.
//! * Every budget holds exactly, and nothing that still fits is left out (the sieve, which cannot look back,
//!   excepted).
//! * No number makes it panic: NaN, infinities, negative weights, overflow and mismatched lengths are an
//!   [`Error`] that names the element.
//! * A [`Scratch`] is reused; after the first runs of a size, solvers allocate nothing.
//! * The same input gives the same set on every platform, except where a logarithm enters, whose last bit is the
//!   platform's: [`Curve::Log1p`], [`stochastic_greedy`] and [`SieveStreaming`].
//!
//! # What it does not do
//!
//! Decide what an entry is worth, measure, age, lock, or run in parallel. Objectives that are not monotone (where
//! keeping more can be worse) are refused as soon as a gain is negative.
//!
//! # Dependencies
//!
//! `thiserror`, for the error types; `ahash`, because a [`Retainer`] looks up every entry's family at each choice.

mod constraint;
mod error;
mod exact;
mod greedy;
mod knapsack;
mod lazy_queue;
mod objective;
mod random;
mod retain;
mod scratch;
mod size;
mod stochastic;
mod streaming;
mod top_gains;
mod verify;

pub use constraint::Constraint;
pub use error::Error;
pub use exact::{EXACT_CANDIDATES, exact_search};
pub use greedy::{lazy_greedy, plain_greedy};
pub use knapsack::density_greedy;
pub use objective::{
    BestSimilarity, ConcaveOverGroups, Curve, FacilityLocation, GroupMass, Modular, Objective,
    SumState, WeightedSum, evaluate,
};
pub use retain::{Entry, Kept, Retainer};
pub use scratch::{Scratch, Selection};
pub use size::Size;
pub use stochastic::stochastic_greedy;
pub use streaming::SieveStreaming;
pub use verify::{ElementSet, Sample, Violation, verify_submodular};
