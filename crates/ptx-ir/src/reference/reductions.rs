//! Kernels in which a workgroup makes one value together: a sum, and a softmax over rows.

use super::{Binding, Expected, Reference, Work, floats, series};
use crate::{
    Access, Axis, Element, Expression, KernelBuilder, LowerError, Reduction, local, workgroup, x,
};

/// The sum of a list, a share of it to each workgroup, added up atomically.
pub(super) fn sum() -> Result<Reference, LowerError> {
    const LENGTH: usize = 10_000;
    let mut kernel = KernelBuilder::new("sum", [256, 1, 1]);
    let values = kernel.buffer(0, Access::Read, Element::F32, None);
    let total = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
    let i = kernel.variable(x());
    let value = kernel.float(0.0);
    kernel.when(i.value().less(values.length()), |kernel| kernel.assign(value, values.at(i)));
    let share = kernel.reduce(Reduction::Sum, value);
    kernel.when(local(Axis::X).equals(0), |kernel| kernel.atomic_add(total, 0, share));
    let input = series(LENGTH, 7);
    // Multiples of 1/64 far below 2^18: the sum is exact in any order.
    let expected = input.iter().sum();
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Threads(super::count(LENGTH)),
        bindings: vec![
            Binding::read(0, floats(&input), LENGTH),
            Binding::written(
                1,
                floats(&[0.0]),
                1,
                Expected::F32 { values: vec![expected], relative: 0.0, absolute: 0.0 },
            ),
        ],
    })
}

/// Softmax of each row, one workgroup to a row.
pub(super) fn softmax() -> Result<Reference, LowerError> {
    const ROWS: usize = 37;
    const COLUMNS: u32 = 300;
    let mut kernel = KernelBuilder::new("softmax", [128, 1, 1]);
    let input = kernel.buffer(0, Access::Read, Element::F32, None);
    let output = kernel.buffer(1, Access::Write, Element::F32, None);
    let shape = kernel.buffer(2, Access::Uniform, Element::U32, Some(1));
    let columns = kernel.variable(shape.at(0));
    let begin = kernel.variable(workgroup(Axis::X) * columns);
    let first = kernel.variable(local(Axis::X));
    let stride = kernel.variable(Expression::WorkgroupSize(Axis::X));
    let turns = kernel.variable((columns.value() + stride - 1) / stride);

    let largest = kernel.float(f32::NEG_INFINITY);
    kernel.repeat(0, turns, 1, |kernel, turn| {
        let column = kernel.variable(turn.value() * stride + first);
        kernel.when(column.value().less(columns), |kernel| {
            kernel.assign(largest, largest.value().maximum(input.at(begin.value() + column)));
        });
    });
    let largest = kernel.reduce(Reduction::Maximum, largest);
    let sum = kernel.float(0.0);
    kernel.repeat(0, turns, 1, |kernel, turn| {
        let column = kernel.variable(turn.value() * stride + first);
        kernel.when(column.value().less(columns), |kernel| {
            let value = input.at(begin.value() + column) - largest;
            kernel.assign(sum, sum.value() + value.exponential());
        });
    });
    let sum = kernel.reduce(Reduction::Sum, sum);
    kernel.repeat(0, turns, 1, |kernel, turn| {
        let column = kernel.variable(turn.value() * stride + first);
        kernel.when(column.value().less(columns), |kernel| {
            let value = input.at(begin.value() + column) - largest;
            kernel.store(output, begin.value() + column, value.exponential() / sum);
        });
    });

    let length = ROWS * COLUMNS as usize;
    let values: Vec<f32> = series(length, 8).iter().map(|value| value * 8.0).collect();
    let mut expected = Vec::with_capacity(length);
    for row in values.chunks_exact(COLUMNS as usize) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|value| f64::from(value - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        #[expect(clippy::cast_possible_truncation, reason = "rounded to what the kernel gives")]
        expected.extend(powers.iter().map(|power| (power / sum) as f32));
    }
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Workgroups([super::count(ROWS), 1]),
        bindings: vec![
            Binding::read(0, floats(&values), length),
            Binding::written(
                1,
                floats(&vec![f32::NAN; length]),
                length,
                Expected::F32 { values: expected, relative: 1e-4, absolute: 1e-9 },
            ),
            Binding::read(2, super::words(&[COLUMNS]), 1),
        ],
    })
}
