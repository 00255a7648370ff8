//! How does a program say what it is?

use crate::Digest;
use crate::encoding::{Domain, Lanes, hash_lanes};

/// A program that a backend lowers.
///
/// Write everything of the program that can reach the emitter. What the emitter provably ignores,
/// such as a run-time length or a debug name, goes through [`Lanes::exact_only`]. Everything else
/// goes into both lanes at once.
///
/// That the emitter ignores a value is the backend's promise. The exact lane exists because such
/// promises break: a [`PtxKey`](crate::PtxKey) covers both lanes unless the backend passes
/// [`ProgramDigests::normalized_of`].
///
/// Content is identity. Paths, times, addresses and compiler output never are.
///
/// ```
/// use ptx_key::{Identity, Lanes, ProgramDigests};
///
/// struct Scale { factor: f64, elements: Option<u64> }
///
/// impl Identity for Scale {
///     fn identify(&self, lanes: &mut Lanes) {
///         lanes.record("scale", |lanes| {
///             lanes.f64(self.factor);
///             lanes.exact_only(|exact| match self.elements {
///                 Some(count) => exact.u64(count),
///                 None => exact.absent(),
///             });
///         });
///     }
/// }
///
/// let short = ProgramDigests::from(&Scale { factor: 2.0, elements: Some(16) });
/// let long = ProgramDigests::from(&Scale { factor: 2.0, elements: Some(4096) });
/// assert_eq!(short.normalized, long.normalized);
/// assert_ne!(short.exact, long.exact);
/// ```
pub trait Identity {
    /// Writes the program. Equal programs must write the same tokens in every process.
    fn identify(&self, lanes: &mut Lanes);
}

/// The digests of a program's two lanes, without any configuration.
///
/// `ProgramDigests::from(&program)` computes both in one walk. Keep them with the program if it is
/// lowered under several configurations: [`KeyBuilder`](crate::KeyBuilder) takes them in place of
/// the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramDigests {
    /// The lane without what the emitter ignores. Programs that share it are one family, which
    /// retention counts on.
    pub normalized: Digest,
    /// The lane with everything. `None` if the backend vouches for the normalized lane alone.
    pub exact: Option<Digest>,
}

impl ProgramDigests {
    /// Digests the normalized lane alone, which halves the hashing.
    ///
    /// A key of these digests is sound only if the emitter really ignores everything that the
    /// program writes with [`Lanes::exact_only`].
    pub fn normalized_of<P: Identity + ?Sized>(program: &P) -> Self {
        Self::hash(program, None)
    }

    fn hash<P: Identity + ?Sized>(program: &P, exact: Option<Domain>) -> Self {
        let identify = |lanes: &mut Lanes| program.identify(lanes);
        let (normalized, exact) = hash_lanes(Domain::NormalizedLane, exact, identify);
        Self { normalized, exact }
    }
}

impl<P: Identity + ?Sized> From<&P> for ProgramDigests {
    fn from(program: &P) -> Self {
        Self::hash(program, Some(Domain::ExactLane))
    }
}

#[cfg(test)]
mod tests;
