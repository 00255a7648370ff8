//! Reference kernels with inputs, and what must come out: for tests, the demo and benches.

mod copy;
mod dense;
mod pointwise;
mod reductions;

use crate::{Interface, Kernel, LowerError};

/// How many workgroups a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// At least this many threads in x.
    Threads(u32),
    /// Just these workgroups in x and y.
    Workgroups([u32; 2]),
}

impl Work {
    /// Workgroups in x and y.
    pub fn workgroups(self, interface: &Interface) -> [u32; 2] {
        match self {
            Self::Threads(threads) => [threads.div_ceil(interface.workgroup[0].max(1)), 1],
            Self::Workgroups(workgroups) => workgroups,
        }
    }
}

/// What a buffer holds before and after.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The slot.
    pub slot: u32,
    /// The number of elements.
    pub length: u32,
    /// The bytes before the launch, elements little-endian.
    pub before: Vec<u8>,
    /// What it must hold afterwards; `None` for what is only read.
    pub after: Option<Expected>,
}

/// What a buffer must hold.
#[derive(Clone, Debug)]
pub enum Expected {
    /// These values, each within `relative` of its own magnitude plus `absolute`.
    F32 {
        /// The values.
        values: Vec<f32>,
        /// Share of a value's magnitude.
        relative: f32,
        /// On top of it.
        absolute: f32,
    },
    /// These halves, exactly.
    F16(Vec<u16>),
    /// These numbers, exactly.
    U32(Vec<u32>),
}

/// A value that is not what it must be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("slot {slot}, element {element}: {found} where {expected} is expected")]
pub struct Mismatch {
    /// The buffer's slot.
    pub slot: u32,
    /// The first wrong element.
    pub element: usize,
    /// What is there.
    pub found: String,
    /// What must be there.
    pub expected: String,
}

/// A kernel with inputs and outputs.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The kernel.
    pub kernel: Kernel,
    /// What it needs of a launch.
    pub work: Work,
    /// Its buffers but for workgroup memory, in the order of slots.
    pub bindings: Vec<Binding>,
}

impl Binding {
    fn read(slot: u32, before: Vec<u8>, length: usize) -> Self {
        Self { slot, length: count(length), before, after: None }
    }

    fn written(slot: u32, before: Vec<u8>, length: usize, after: Expected) -> Self {
        Self { slot, length: count(length), before, after: Some(after) }
    }

    /// Compares what came out with what must.
    ///
    /// # Errors
    ///
    /// The first element that is wrong, or missing.
    pub fn check(&self, bytes: &[u8]) -> Result<(), Mismatch> {
        let wrong = |element, found: String, expected: String| Mismatch {
            slot: self.slot,
            element,
            found,
            expected,
        };
        let missing = |element| wrong(element, "nothing".to_owned(), "an element".to_owned());
        match &self.after {
            None => Ok(()),
            Some(Expected::F32 { values, relative, absolute }) => {
                let words = bytes.chunks_exact(4).map(word).map(f32::from_bits);
                let found: Vec<f32> = words.collect();
                for (element, expected) in values.iter().enumerate() {
                    let found = found.get(element).ok_or_else(|| missing(element))?;
                    let near = (found - expected).abs() <= expected.abs() * relative + absolute;
                    if !near && found.to_bits() != expected.to_bits() {
                        return Err(wrong(element, found.to_string(), expected.to_string()));
                    }
                }
                Ok(())
            }
            Some(Expected::F16(values)) => {
                let halves =
                    bytes.chunks_exact(2).map(|half| u16::from_le_bytes([half[0], half[1]]));
                exactly(&halves.collect::<Vec<_>>(), values)
                    .map_err(|(element, found, expected)| wrong(element, found, expected))
            }
            Some(Expected::U32(values)) => {
                let words = bytes.chunks_exact(4).map(word);
                exactly(&words.collect::<Vec<_>>(), values)
                    .map_err(|(element, found, expected)| wrong(element, found, expected))
            }
        }
    }
}

fn exactly<T: PartialEq + std::fmt::Display>(
    found: &[T],
    expected: &[T],
) -> Result<(), (usize, String, String)> {
    for (element, expected) in expected.iter().enumerate() {
        match found.get(element) {
            Some(found) if found == expected => {}
            Some(found) => return Err((element, found.to_string(), expected.to_string())),
            None => return Err((element, "nothing".to_owned(), expected.to_string())),
        }
    }
    Ok(())
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Numbers that look random and are the same on every machine, between -1 and 1, in steps that
/// f16 and bf16 hold exactly.
fn series(length: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let next = |()| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        // 129 steps of 1/64.
        let step = i16::try_from(state % 129).unwrap_or(0) - 64;
        f32::from(step) / 64.0
    };
    std::iter::repeat_n((), length).map(next).collect()
}

/// Every reference kernel, with its inputs and what must come out.
///
/// # Errors
///
/// None in a correct build: each kernel is checked as any other is.
pub fn all() -> Result<Vec<Reference>, LowerError> {
    Ok(vec![
        pointwise::saxpy()?,
        pointwise::saxpy_half()?,
        dense::matmul()?,
        reductions::sum()?,
        reductions::softmax()?,
        pointwise::histogram()?,
        copy::pipeline()?,
    ])
}
