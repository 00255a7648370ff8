//! What does a launch of a reference kernel read, and what must it write?

use crate::{Interface, Kernel};

/// A kernel with inputs and results.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The kernel.
    pub kernel: Kernel,
    /// How much work it has.
    pub work: Work,
    /// Its buffers but for workgroup memory, in the order of slots.
    pub bindings: Vec<Binding>,
}

/// How much work a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// At least this many threads in x.
    Threads(u32),
    /// Exactly these workgroups in x and y.
    Workgroups([u32; 2]),
}

impl Work {
    /// The number of workgroups in x and y.
    pub fn workgroups(self, interface: &Interface) -> [u32; 2] {
        match self {
            Self::Threads(threads) => [threads.div_ceil(interface.workgroup[0].max(1)), 1],
            Self::Workgroups(workgroups) => workgroups,
        }
    }
}

/// A buffer before and after a launch.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The slot.
    pub slot: u32,
    /// The number of elements.
    pub length: u32,
    /// The bytes before the launch. Elements are little-endian.
    pub before: Vec<u8>,
    /// The bytes after the launch, unless the buffer is only read.
    pub after: Option<Vec<u8>>,
    /// How far an f32 may be off: a share of its magnitude, plus a constant. `None` if not at all.
    pub tolerance: Option<[f32; 2]>,
}

impl Binding {
    pub(super) fn input<const WIDTH: usize>(slot: u32, before: Vec<[u8; WIDTH]>) -> Self {
        let length = u32::try_from(before.len()).unwrap_or(u32::MAX);
        Self { slot, length, before: before.into_flattened(), after: None, tolerance: None }
    }

    pub(super) fn output<const WIDTH: usize>(
        slot: u32,
        before: Vec<[u8; WIDTH]>,
        after: Vec<[u8; WIDTH]>,
    ) -> Self {
        Self { after: Some(after.into_flattened()), ..Self::input(slot, before) }
    }

    /// Describes the first element of `found` that is wrong or missing.
    pub fn mismatch(&self, found: &[u8]) -> Option<String> {
        let after = self.after.as_ref()?;
        let width = (after.len() / (self.length as usize).max(1)).max(1);
        let mut found = found.chunks(width);
        after.chunks(width).enumerate().find_map(|(number, expected)| {
            let (slot, found) = (self.slot, found.next().unwrap_or_default());
            let right = found == expected || self.is_near(found, expected);
            (!right).then(|| {
                format!("slot {slot}, element {number}: bytes {found:02x?}, not {expected:02x?}")
            })
        })
    }

    fn is_near(&self, found: &[u8], expected: &[u8]) -> bool {
        match (self.tolerance, found.try_into(), expected.try_into()) {
            (Some([relative, absolute]), Ok(found), Ok(expected)) => {
                let (found, expected) = (f32::from_le_bytes(found), f32::from_le_bytes(expected));
                (found - expected).abs() <= expected.abs() * relative + absolute
            }
            _ => false,
        }
    }
}

pub(super) fn floats(values: &[f32]) -> Vec<[u8; 4]> {
    values.iter().map(|value| value.to_le_bytes()).collect()
}

pub(super) fn words(values: &[u32]) -> Vec<[u8; 4]> {
    values.iter().map(|value| value.to_le_bytes()).collect()
}

/// Pseudorandom numbers between -1 and 1, in steps that f16 and bf16 hold exactly. They are the same
/// on every machine.
pub(super) fn series(length: u32, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        // 129 steps of 1/64.
        let step = i16::try_from(state % 129).unwrap_or(0) - 64;
        f32::from(step) / 64.0
    };
    (0..length).map(next).collect()
}
