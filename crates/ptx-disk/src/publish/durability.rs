//! What does an entry survive?

/// What a published entry survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. A power cut may damage the newest entries, which is noticed, and
    /// they are computed again.
    #[default]
    None,
    /// A power cut may take the newest names, but leaves no name without its bytes.
    Data,
    /// A power cut takes nothing that was reported as published.
    Full,
}
