//! Do the threads of a workgroup combine their values? A sum, and a softmax over rows.

use super::binding::{Binding, Reference, Work, floats, series, words};
use crate::{
    Access, Axis, Binary, Comparison, Element, Expression, Index, Kernel, KernelParts, LowerError,
    Reduction, Type, Unary, x,
};

/// The sum of a list. Each workgroup sums a share and adds it atomically.
pub(super) fn sum() -> Result<Reference, LowerError> {
    const LENGTH: u32 = 10_000;
    let mut kernel = KernelParts::new("sum", [256, 1, 1]);
    let values = kernel.buffer(0, Access::Read, Element::F32, None);
    let total = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
    let i = kernel.variable(Type::U32, x());
    let value = kernel.variable(Type::F32, 0.0);
    kernel.when(i.value().less(values.length()), |kernel| kernel.assign(value, values.at(i)));
    let share = kernel.reduce(Reduction::Sum, value);
    let [thread, first] = [Expression::Position(Index::Local, Axis::X), 0.into()].map(Box::new);
    kernel.when(Expression::Compare(Comparison::Equal, thread, first), |kernel| {
        kernel.atomic_add(total, 0, share);
    });
    let input = series(LENGTH, 7);
    // Multiples of 1/64 far below 2^18: the sum is exact in any order.
    let expected = floats(&[input.iter().sum()]);
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Threads(LENGTH),
        bindings: vec![
            Binding::input(0, floats(&input)),
            Binding::output(1, floats(&[0.0]), expected),
        ],
    })
}

/// The softmax of each row. Each workgroup computes one row.
pub(super) fn softmax() -> Result<Reference, LowerError> {
    const ROWS: u32 = 37;
    const COLUMNS: u32 = 300;
    let mut kernel = KernelParts::new("softmax", [128, 1, 1]);
    let input = kernel.buffer(0, Access::Read, Element::F32, None);
    let output = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
    let shape = kernel.buffer(2, Access::Read, Element::U32, Some(1));
    let columns = kernel.variable(Type::U32, shape.at(0));
    let row = Expression::Position(Index::Workgroup, Axis::X);
    let begin = kernel.variable(Type::U32, row * columns);
    let first = kernel.variable(Type::U32, Expression::Position(Index::Local, Axis::X));
    let stride = kernel.variable(Type::U32, Expression::WorkgroupSize(Axis::X));
    let turns = kernel.variable(Type::U32, (columns.value() + stride - 1) / stride);
    // Runs a block for each of the thread's columns.
    let each_column = |kernel: &mut KernelParts, block: &dyn Fn(&mut KernelParts, Expression)| {
        kernel.repeat(0, turns, 1, |kernel, turn| {
            let column = kernel.variable(Type::U32, turn.value() * stride + first);
            kernel.when(column.value().less(columns), |kernel| {
                block(kernel, begin.value() + column);
            });
        });
    };

    let largest = kernel.variable(Type::F32, f32::NEG_INFINITY);
    each_column(&mut kernel, &|kernel, place| {
        let [left, right] = [largest.value(), input.at(place)].map(Box::new);
        kernel.assign(largest, Expression::Binary(Binary::Maximum, left, right));
    });
    let largest = kernel.reduce(Reduction::Maximum, largest);
    let power = |place: Expression| {
        Expression::Unary(Unary::Exponential, Box::new(input.at(place) - largest))
    };
    let sum = kernel.variable(Type::F32, 0.0);
    each_column(&mut kernel, &|kernel, place| kernel.assign(sum, sum.value() + power(place)));
    let sum = kernel.reduce(Reduction::Sum, sum);
    each_column(&mut kernel, &|kernel, place| {
        kernel.store(output, place.clone(), power(place) / sum);
    });

    let values: Vec<f32> = series(ROWS * COLUMNS, 8).iter().map(|value| value * 8.0).collect();
    let mut quotients = Vec::with_capacity(values.len());
    for row in values.chunks_exact(COLUMNS as usize) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|value| f64::from(value - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        #[expect(clippy::cast_possible_truncation, reason = "the kernel computes in f32")]
        quotients.extend(powers.iter().map(|power| (power / sum) as f32));
    }
    let before = vec![f32::NAN; values.len()];
    let softmax = Binding::output(1, floats(&before), floats(&quotients));
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Workgroups([ROWS, 1]),
        bindings: vec![
            Binding::input(0, floats(&values)),
            Binding { tolerance: Some([1e-4, 1e-9]), ..softmax },
            Binding::input(2, words(&[COLUMNS])),
        ],
    })
}
