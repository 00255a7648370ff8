//! Kernels whose threads work each for itself: saxpy in two precisions, and a histogram.

use super::{Binding, Expected, Reference, Work, floats, series, words};
use crate::{Access, Element, KernelBuilder, LowerError, x};

const LENGTH: usize = 5_000;

/// y = a · x + y
pub(super) fn saxpy() -> Result<Reference, LowerError> {
    let mut kernel = KernelBuilder::new("saxpy", [256, 1, 1]);
    let factor = kernel.buffer(0, Access::Uniform, Element::F32, Some(1));
    let xs = kernel.buffer(1, Access::Read, Element::F32, None);
    let ys = kernel.buffer(2, Access::ReadWrite, Element::F32, None);
    let i = kernel.variable(x());
    kernel.when(i.value().less(ys.length()), |kernel| {
        kernel.store(ys, i, factor.at(0).multiply_add(xs.at(i), ys.at(i)));
    });
    let (a, x_values, y_values) = (2.5_f32, series(LENGTH, 1), series(LENGTH, 2));
    let sums = x_values.iter().zip(&y_values).map(|(x, y)| a.mul_add(*x, *y)).collect();
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Threads(super::count(LENGTH)),
        bindings: vec![
            Binding::read(0, floats(&[a]), 1),
            Binding::read(1, floats(&x_values), LENGTH),
            Binding::written(
                2,
                floats(&y_values),
                LENGTH,
                Expected::F32 { values: sums, relative: 0.0, absolute: 0.0 },
            ),
        ],
    })
}

/// y = 2 · x + y in half precision, computed in single.
pub(super) fn saxpy_half() -> Result<Reference, LowerError> {
    let mut kernel = KernelBuilder::new("saxpy_half", [128, 1, 1]);
    let xs = kernel.buffer(0, Access::Read, Element::F16, None);
    let ys = kernel.buffer(1, Access::ReadWrite, Element::F16, None);
    let i = kernel.variable(x());
    kernel.when(i.value().less(ys.length()), |kernel| {
        kernel.store(ys, i, xs.at(i) * 2.0 + ys.at(i));
    });
    // Multiples of 1/64 up to 3: halves hold them and their sums exactly.
    let (x_values, y_values) = (series(LENGTH, 3), series(LENGTH, 4));
    let sums = x_values.iter().zip(&y_values).map(|(x, y)| half(2.0 * x + y)).collect();
    let halves =
        |values: &[f32]| values.iter().flat_map(|value| half(*value).to_le_bytes()).collect();
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Threads(super::count(LENGTH)),
        bindings: vec![
            Binding::read(0, halves(&x_values), LENGTH),
            Binding::written(1, halves(&y_values), LENGTH, Expected::F16(sums)),
        ],
    })
}

/// How often each of 64 values is in a list.
pub(super) fn histogram() -> Result<Reference, LowerError> {
    const BINS: u32 = 64;
    let mut kernel = KernelBuilder::new("histogram", [256, 1, 1]);
    let values = kernel.buffer(0, Access::Read, Element::U32, None);
    let bins = kernel.buffer(1, Access::ReadWrite, Element::U32, None);
    let i = kernel.variable(x());
    kernel.when(i.value().less(values.length()), |kernel| {
        kernel.atomic_add(bins, values.at(i) % BINS, 1);
    });
    let input: Vec<u32> =
        (0..super::count(LENGTH)).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let mut counts = vec![0_u32; 64];
    for value in &input {
        counts[(value % BINS) as usize] += 1;
    }
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Threads(super::count(LENGTH)),
        bindings: vec![
            Binding::read(0, words(&input), LENGTH),
            Binding::written(1, words(&[0; 64]), 64, Expected::U32(counts)),
        ],
    })
}

/// The half-precision bits of a multiple of 1/64 with a magnitude below 4, which is exact.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = u16::try_from(bits >> 16).unwrap_or(0) & 0x8000;
    if value == 0.0 {
        return sign;
    }
    let exponent = (bits >> 23 & 0xff) + 15 - 127;
    let mantissa = bits >> 13 & 0x3ff;
    sign | u16::try_from(exponent << 10 | mantissa).unwrap_or(0)
}
