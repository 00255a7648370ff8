//! What does verifying find?

/// What verifying found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Entries that are what was written, their content's digest included.
    pub whole: u64,
    /// Damaged ones, set aside where the store may write; those of a bundle stay.
    pub damaged: u64,
    /// Files of newer releases, and those too large for this store's settings.
    pub left_alone: u64,
    /// Entries that the file system did not let us see.
    pub unreadable: u64,
}
