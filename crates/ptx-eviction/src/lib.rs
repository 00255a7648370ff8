//! Chooses which entries stay: monotone submodular maximisation under count and byte budgets.
mod constraint;
mod error;
mod exact;
mod greedy;
mod knapsack;
mod objective;
mod random;
mod retain;
mod scratch;
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
pub use retain::{Budgets, Entry, Kept, Retainer};
pub use scratch::{Scratch, Selection};
pub use stochastic::stochastic_greedy;
pub use streaming::SieveStreaming;
pub use verify::{ElementSet, Sample, Violation, verify_submodular};
