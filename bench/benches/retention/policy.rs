//! What does a policy see of a trace, and what does it answer?

/// A request, as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) object: u32,
    pub(crate) bytes: u64,
    /// Seconds that the next miss would cost.
    pub(crate) cost: f64,
    /// Its place in the trace.
    pub(crate) now: usize,
    /// The place of the next request for the same object. Only the offline bound may use it.
    pub(crate) next: usize,
}

/// A cache of bounded size.
pub(crate) trait Policy {
    /// Returns true if `request` hits. On a miss the policy may keep the object.
    fn request(&mut self, request: &Request) -> bool;
}
