//! How much: a number of entries and the bytes that they take.

/// A number of entries and the bytes that they take.
///
/// The same type says what a budget allows, what is resident, and what was evicted or trimmed.
///
/// ```
/// use ptx_eviction::Size;
///
/// let budget = Size { entries: 100, bytes: 1 << 20 };
/// let resident = Size { entries: 100, bytes: 4_096 };
/// let added = Size { entries: 1, bytes: 512 };
/// assert!(resident.fits(budget));
/// assert!(!resident.saturating_add(added).fits(budget));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// The number of entries.
    pub entries: u64,
    /// The bytes that they take together.
    pub bytes: u64,
}

impl Size {
    /// A budget that everything fits.
    pub const UNBOUNDED: Self = Self { entries: u64::MAX, bytes: u64::MAX };

    /// Returns true if neither the entries nor the bytes exceed `budget`.
    pub fn fits(self, budget: Self) -> bool {
        self.entries <= budget.entries && self.bytes <= budget.bytes
    }

    /// Adds both counts. Each stops at `u64::MAX`.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_add(other.entries),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Subtracts both counts. Each stops at zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(other.entries),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

#[cfg(test)]
mod tests;
