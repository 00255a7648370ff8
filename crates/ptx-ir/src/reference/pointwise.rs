//! Do independent threads compute the right values? In two precisions, and with atomic additions.

use super::binding::{Binding, Reference, Work, floats, series, words};
use crate::{Access, Element, Kernel, KernelParts, LowerError, Type, x};

const LENGTH: u32 = 5_000;

/// y = a · x + y
pub(super) fn saxpy() -> Result<Reference, LowerError> {
    let mut kernel = KernelParts::new("saxpy", [256, 1, 1]);
    let factor = kernel.buffer(0, Access::Read, Element::F32, Some(1));
    let xs = kernel.buffer(1, Access::Read, Element::F32, None);
    let ys = kernel.buffer(2, Access::ReadWrite, Element::F32, None);
    let i = kernel.variable(Type::U32, x());
    kernel.when(i.value().less(ys.length()), |kernel| {
        kernel.store(ys, i, factor.at(0).multiply_add(xs.at(i), ys.at(i)));
    });
    let (a, x_values, y_values) = (2.5_f32, series(LENGTH, 1), series(LENGTH, 2));
    let sums: Vec<_> = x_values.iter().zip(&y_values).map(|(x, y)| a.mul_add(*x, *y)).collect();
    let expected = floats(&sums);
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Threads(LENGTH),
        bindings: vec![
            Binding::input(0, floats(&[a])),
            Binding::input(1, floats(&x_values)),
            Binding::output(2, floats(&y_values), expected),
        ],
    })
}

/// y = 2 · x + y in half precision, computed in single.
pub(super) fn saxpy_half() -> Result<Reference, LowerError> {
    let mut kernel = KernelParts::new("saxpy_half", [128, 1, 1]);
    let xs = kernel.buffer(0, Access::Read, Element::F16, None);
    let ys = kernel.buffer(1, Access::ReadWrite, Element::F16, None);
    let i = kernel.variable(Type::U32, x());
    kernel.when(i.value().less(ys.length()), |kernel| {
        kernel.store(ys, i, xs.at(i) * 2.0 + ys.at(i));
    });
    // Multiples of 1/64 up to 3: halves hold them and their sums exactly.
    let (x_values, y_values) = (series(LENGTH, 3), series(LENGTH, 4));
    let sums: Vec<_> = x_values.iter().zip(&y_values).map(|(x, y)| 2.0 * x + y).collect();
    let expected = halves(&sums);
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Threads(LENGTH),
        bindings: vec![
            Binding::input(0, halves(&x_values)),
            Binding::output(1, halves(&y_values), expected),
        ],
    })
}

/// Counts how often a list contains each of 64 values.
pub(super) fn histogram() -> Result<Reference, LowerError> {
    const BINS: u32 = 64;
    let mut kernel = KernelParts::new("histogram", [256, 1, 1]);
    let values = kernel.buffer(0, Access::Read, Element::U32, None);
    let bins = kernel.buffer(1, Access::ReadWrite, Element::U32, None);
    let i = kernel.variable(Type::U32, x());
    kernel.when(i.value().less(values.length()), |kernel| {
        kernel.atomic_add(bins, values.at(i) % BINS, 1);
    });
    let input: Vec<_> = (0..LENGTH).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let mut counts = [0; BINS as usize];
    for value in &input {
        counts[(value % BINS) as usize] += 1;
    }
    let expected = words(&counts);
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Threads(LENGTH),
        bindings: vec![
            Binding::input(0, words(&input)),
            Binding::output(1, words(&[0; BINS as usize]), expected),
        ],
    })
}

/// The half-precision bits of multiples of 1/64 with a magnitude below 4, which are exact.
fn halves(values: &[f32]) -> Vec<[u8; 2]> {
    let half = |value: &f32| {
        let bits = value.to_bits();
        let sign = bits >> 16 & 0x8000;
        let exponent = (bits >> 23 & 0xff).wrapping_add(15).wrapping_sub(127);
        let magnitude = exponent << 10 | bits >> 13 & 0x3ff;
        let half = sign | if *value == 0.0 { 0 } else { magnitude };
        u16::try_from(half).unwrap_or(0).to_le_bytes()
    };
    values.iter().map(half).collect()
}
