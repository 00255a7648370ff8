//! Why a choice was refused.

/// Why [`Retainer::retain`](crate::Retainer::retain) chose nothing. No number makes it panic.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A worth is NaN, infinite or negative.
    #[error("entry {entry} is worth {worth}: a worth must be finite and not negative")]
    Worth {
        /// The position of the entry.
        entry: usize,
        /// The worth as given.
        worth: f64,
    },
    /// The sum of all worths is infinite.
    #[error("the worths add up to more than an f64 can hold: use a larger unit")]
    Overflow,
    /// A [`Curve::Saturating`](crate::Curve::Saturating) flattens at NaN, infinity or below zero.
    #[error("the curve flattens at {at}: `at` must be finite and not negative")]
    Curve {
        /// The value as given.
        at: f64,
    },
    /// There are more than `u32::MAX` entries.
    #[error("{count} entries are more than the {} that one choice can take: split them", u32::MAX)]
    TooManyEntries {
        /// The number of entries.
        count: usize,
    },
}
