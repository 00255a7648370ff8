//! Do the threads of a workgroup share tiles? A matrix product.

use super::binding::{Binding, Reference, Work, floats, series, words};
use crate::{
    Access, Axis, Element, Expression, Index, Kernel, KernelParts, LowerError, Statement, Type, x,
};

const TILE: u32 = 16;
/// The rows of A, the columns of A, and the columns of B. None is a multiple of the tile.
const SHAPE: [u32; 3] = [50, 70, 40];

/// C = A · B, with the shape in a buffer.
pub(super) fn matmul() -> Result<Reference, LowerError> {
    let mut kernel = KernelParts::new("matmul", [TILE, TILE, 1]);
    kernel.fixed_workgroup = true;
    let a = kernel.buffer(0, Access::Read, Element::F32, None);
    let b = kernel.buffer(1, Access::Read, Element::F32, None);
    let c = kernel.buffer(2, Access::ReadWrite, Element::F32, None);
    let shape = kernel.buffer(3, Access::Read, Element::U32, Some(3));
    let tile = Some(TILE * TILE);
    let a_tile = kernel.buffer(4, Access::Workgroup, Element::F32, tile);
    let b_tile = kernel.buffer(5, Access::Workgroup, Element::F32, tile);
    let [rows, inner, columns] = [0, 1, 2].map(|it| kernel.variable(Type::U32, shape.at(it)));
    let column = kernel.variable(Type::U32, x());
    let row = kernel.variable(Type::U32, Expression::Position(Index::Global, Axis::Y));
    let [tile_column, tile_row] = [Axis::X, Axis::Y]
        .map(|axis| kernel.variable(Type::U32, Expression::Position(Index::Local, axis)));
    let place = kernel.variable(Type::U32, tile_row.value() * TILE + tile_column);
    let sum = kernel.variable(Type::F32, 0.0);
    kernel.repeat(0, inner, TILE, |kernel, first| {
        // Beyond the edge a tile holds zeros, which add nothing.
        let a_column = kernel.variable(Type::U32, first.value() + tile_column);
        kernel.store(a_tile, place, 0.0);
        kernel.when(row.value().less(rows) & a_column.value().less(inner), |kernel| {
            kernel.store(a_tile, place, a.at(row.value() * inner + a_column));
        });
        let b_row = kernel.variable(Type::U32, first.value() + tile_row);
        kernel.store(b_tile, place, 0.0);
        kernel.when(b_row.value().less(inner) & column.value().less(columns), |kernel| {
            kernel.store(b_tile, place, b.at(b_row.value() * columns + column));
        });
        kernel.body.push(Statement::Barrier);
        kernel.repeat(0, TILE, 1, |kernel, k| {
            let left = a_tile.at(tile_row.value() * TILE + k);
            let right = b_tile.at(k.value() * TILE + tile_column);
            kernel.assign(sum, left.multiply_add(right, sum));
        });
        kernel.body.push(Statement::Barrier);
    });
    kernel.when(row.value().less(rows) & column.value().less(columns), |kernel| {
        kernel.store(c, row.value() * columns + column, sum);
    });

    let [a_values, b_values] =
        [(SHAPE[0], 5), (SHAPE[2], 6)].map(|(extent, seed)| series(extent * SHAPE[1], seed));
    let [rows, inner, columns] = SHAPE.map(|extent| extent as usize);
    let mut products = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let terms =
                (0..inner).map(|k| (a_values[row * inner + k], b_values[k * columns + column]));
            products.push(terms.fold(0.0_f32, |sum, (left, right)| left.mul_add(right, sum)));
        }
    }
    let before = vec![f32::NAN; products.len()];
    let product = Binding::output(2, floats(&before), floats(&products));
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Workgroups([SHAPE[2].div_ceil(TILE), SHAPE[0].div_ceil(TILE)]),
        bindings: vec![
            Binding::input(0, floats(&a_values)),
            Binding::input(1, floats(&b_values)),
            Binding { tolerance: Some([1e-5, 1e-5]), ..product },
            Binding::input(3, words(&SHAPE)),
        ],
    })
}
