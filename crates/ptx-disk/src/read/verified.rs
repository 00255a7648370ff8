//! What does verifying find?

/// What verifying found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Whole entries, the digest of the content included.
    pub whole: u64,
    /// Damaged entries. A store that may write quarantines them. Those of a bundle stay.
    pub damaged: u64,
    /// Files of newer releases, and those too large for this store's settings.
    pub left_alone: u64,
    /// Entries that the file system failed to read.
    pub unreadable: u64,
}
