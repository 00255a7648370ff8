//! A value on its way in and on its way out.

use std::time::Duration;

use ptx_key::Digest;

/// A value with what is known of its making.
#[derive(Clone, Debug)]
pub struct Made<V> {
    /// The value.
    pub value: V,
    /// What making it anew would cost. `None` stands for the time that this making took.
    pub cost: Option<Duration>,
    /// Whether a tier beneath holds it: the next miss then costs no making but a load, as far as
    /// [`Cache::note_load`](crate::Cache::note_load) was told what one takes.
    pub in_lower_tier: bool,
    /// The digest of the program's normalized lane: variants of one program share it.
    pub family: Option<Digest>,
}

impl<V> Made<V> {
    /// A value of a family of its own, which costs what its making takes.
    pub fn new(value: V) -> Self {
        Self { value, cost: None, in_lower_tier: false, family: None }
    }
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was resident.
    Memory,
    /// This request made it.
    Made,
    /// Another thread was making it; this request waited.
    Coalesced,
}

/// A value and where it came from.
#[derive(Clone, Debug)]
pub struct Served<V> {
    /// The value.
    pub value: V,
    /// Where it came from.
    pub origin: Origin,
}
