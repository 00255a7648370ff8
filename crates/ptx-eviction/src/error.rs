/// Why a problem was refused. Nothing in this crate panics on the numbers it is given; it returns one of these.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A weight is NaN, infinite or negative.
    #[error("weight of element {element} is {weight}: weights must be finite and not negative")]
    Weight {
        /// The element that carries it.
        element: usize,
        /// The weight as given.
        weight: f64,
    },
    /// A group's scale is NaN, infinite or negative.
    #[error("scale of group {group} is {scale}: scales must be finite and not negative")]
    Scale {
        /// The group that carries it.
        group: usize,
        /// The scale as given.
        scale: f64,
    },
    /// An objective returned a marginal gain that is NaN, infinite or negative.
    #[error(
        "marginal gain of element {element} is {gain}: a monotone objective's gains are finite and not negative \
         (clamp rounding noise to zero)"
    )]
    Gain {
        /// The element whose gain was asked for.
        element: usize,
        /// The gain as returned.
        gain: f64,
    },
    /// A sum left the range of `f64`.
    #[error("{what} overflows: scale the weights down")]
    Overflow {
        /// The sum in question.
        what: &'static str,
    },
    /// Two columns that describe the same elements differ in length.
    #[error("{what} has {found} entries for {expected} elements")]
    Length {
        /// The column that differs.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The number of elements.
        expected: usize,
    },
    /// An element's index lies outside the ground set.
    #[error("element {element} is outside the ground set of {count} elements")]
    Element {
        /// The index as given.
        element: usize,
        /// The number of elements; indices run from 0 to one less.
        count: usize,
    },
    /// A group id is not dense: ids must be smaller than the number of groups that the caller described, or
    /// than the number of elements where it described none.
    #[error("element {element} is in group {group}, but group ids must be below {limit}")]
    Group {
        /// The element that carries it.
        element: usize,
        /// The id as given.
        group: u32,
        /// One more than the largest id allowed.
        limit: usize,
    },
    /// The ground set is larger than `u32::MAX` elements.
    #[error("{count} elements are more than the {} that a solver can index", u32::MAX)]
    TooManyElements {
        /// The number of elements.
        count: usize,
    },
    /// Exact search was asked for more candidates than it accepts.
    #[error(
        "{found} candidates are more than the {limit} that exact search accepts: use density_greedy"
    )]
    TooManyCandidates {
        /// Elements that are not pinned and fit on their own.
        found: usize,
        /// The most that exact search accepts.
        limit: usize,
    },
    /// The pinned elements alone break a budget, so no set is feasible.
    #[error(
        "pinned elements need {needed} {budget}, the budget is {allowed}: unpin some or raise it"
    )]
    PinnedOverBudget {
        /// The budget they break: `elements`, `bytes` or `elements in one group`.
        budget: &'static str,
        /// What they need, saturating at `u64::MAX`; for a group, the first number that is too many.
        needed: u64,
        /// What the budget allows.
        allowed: u64,
    },
    /// A parameter is outside its range.
    #[error("{name} is {value}: it must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value as given.
        value: f64,
        /// The range in words.
        range: &'static str,
    },
    /// The solver does not handle this kind of constraint.
    #[error("{solver} takes no {constraint}: use {instead}")]
    Unsupported {
        /// The solver that was called.
        solver: &'static str,
        /// The constraint that it does not handle.
        constraint: &'static str,
        /// A solver that does.
        instead: &'static str,
    },
}
