//! How much there is, or how much there may be.

/// A number of entries and of bytes: a budget, what is resident, what was evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// Entries.
    pub entries: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Size {
    /// The budget that refuses nothing.
    pub const UNBOUNDED: Self = Self { entries: u64::MAX, bytes: u64::MAX };

    /// Returns true if neither number exceeds that of `budget`.
    pub const fn fits(self, budget: Self) -> bool {
        self.entries <= budget.entries && self.bytes <= budget.bytes
    }
}
