//! How a program says what it is: one walk that feeds two lanes.

use crate::encoding::Domain;
use crate::{Digest, Encoder};

/// A program that a back end lowers.
///
/// The implementation writes everything of the program that can reach the emitter. What the
/// emitter provably ignores (a runtime storage length, a debug name) goes through
/// [`Lanes::exact_only`]; all else is written to both lanes at once. Whether the emitter ignores
/// a thing is the back end's promise, and the exact lane is there because such promises break:
/// a [`PtxKey`](crate::PtxKey) takes both lanes unless the back end asks for the first alone.
///
/// Paths, times, addresses and compiler output are never identity. Content is.
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
/// let short = ProgramDigests::of(&Scale { factor: 2.0, elements: Some(16) });
/// let long = ProgramDigests::of(&Scale { factor: 2.0, elements: Some(4096) });
/// assert_eq!(short.normalized, long.normalized);
/// assert_ne!(short.exact, long.exact);
/// ```
pub trait Identity {
    /// Writes the program. Must write the same for equal programs, in any process.
    fn identify(&self, lanes: &mut Lanes);
}

/// The two token streams of one program, written in one walk.
///
/// Each writing method puts one token (see [`Encoder`]) into both streams.
#[derive(Clone, Debug)]
pub struct Lanes {
    normalized: Encoder,
    exact: Option<Encoder>,
}

impl Lanes {
    fn both() -> Self {
        Self { exact: Some(Encoder::new(Domain::ExactLane)), ..Self::normalized() }
    }

    fn normalized() -> Self {
        Self { normalized: Encoder::new(Domain::NormalizedLane), exact: None }
    }

    /// See [`Encoder::bool`].
    pub fn bool(&mut self, value: bool) {
        self.each(|lane| lane.bool(value));
    }

    /// See [`Encoder::u64`].
    pub fn u64(&mut self, value: u64) {
        self.each(|lane| lane.u64(value));
    }

    /// See [`Encoder::i64`].
    pub fn i64(&mut self, value: i64) {
        self.each(|lane| lane.i64(value));
    }

    /// See [`Encoder::f64`].
    pub fn f64(&mut self, value: f64) {
        self.each(|lane| lane.f64(value));
    }

    /// See [`Encoder::str`].
    pub fn str(&mut self, text: &str) {
        self.each(|lane| lane.str(text));
    }

    /// See [`Encoder::bytes`].
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.each(|lane| lane.bytes(bytes));
    }

    /// See [`Encoder::digest`].
    pub fn digest(&mut self, digest: &Digest) {
        self.each(|lane| lane.digest(digest));
    }

    /// See [`Encoder::absent`].
    pub fn absent(&mut self) {
        self.each(Encoder::absent);
    }

    /// A named group in both lanes. See [`Encoder::record`].
    pub fn record(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.each(|lane| lane.open(name));
        content(self);
        self.each(Encoder::close);
    }

    /// Writes what the emitter ignores: it reaches the exact lane and not the normalized one.
    /// `content` does not run when only the normalized lane is wanted.
    pub fn exact_only(&mut self, content: impl FnOnce(&mut Encoder)) {
        if let Some(exact) = &mut self.exact {
            content(exact);
        }
    }

    fn each(&mut self, write: impl Fn(&mut Encoder)) {
        write(&mut self.normalized);
        if let Some(exact) = &mut self.exact {
            write(exact);
        }
    }
}

/// What the two lanes of one program hash to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramDigests {
    /// The lane without what the emitter ignores. Programs that share it are variants of one
    /// family: retention counts on that.
    pub normalized: Digest,
    /// The lane with everything; `None` when the back end vouches for the normalized lane alone.
    pub exact: Option<Digest>,
}

impl ProgramDigests {
    /// Both lanes, in one walk of `program`.
    pub fn of<P: Identity + ?Sized>(program: &P) -> Self {
        Self::finish(program, Lanes::both())
    }

    /// The normalized lane alone, at half the hashing. Sound only where the emitter really
    /// ignores all that [`Lanes::exact_only`] was given.
    pub fn normalized_of<P: Identity + ?Sized>(program: &P) -> Self {
        Self::finish(program, Lanes::normalized())
    }

    fn finish<P: Identity + ?Sized>(program: &P, mut lanes: Lanes) -> Self {
        program.identify(&mut lanes);
        Self { normalized: lanes.normalized.finish(), exact: lanes.exact.map(Encoder::finish) }
    }
}

#[cfg(test)]
mod tests;
