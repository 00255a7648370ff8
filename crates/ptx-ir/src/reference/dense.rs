//! A matrix product by tiles in workgroup memory.

use super::{Binding, Expected, Reference, Work, floats, series};
use crate::{Access, Axis, Element, KernelBuilder, LowerError, local, x, y};

const TILE: u32 = 16;
/// Rows of A, columns of A, columns of B: none a multiple of the tile.
const SHAPE: [u32; 3] = [50, 70, 40];

/// C = A · B, with the shape in a uniform buffer.
pub(super) fn matmul() -> Result<Reference, LowerError> {
    let mut kernel = KernelBuilder::new("matmul", [TILE, TILE, 1]);
    kernel.fix_workgroup();
    let a = kernel.buffer(0, Access::Read, Element::F32, None);
    let b = kernel.buffer(1, Access::Read, Element::F32, None);
    let c = kernel.buffer(2, Access::Write, Element::F32, None);
    let shape = kernel.buffer(3, Access::Uniform, Element::U32, Some(3));
    let a_tile = kernel.buffer(4, Access::Workgroup, Element::F32, Some(TILE * TILE));
    let b_tile = kernel.buffer(5, Access::Workgroup, Element::F32, Some(TILE * TILE));
    let (rows, inner, columns) =
        (kernel.variable(shape.at(0)), kernel.variable(shape.at(1)), kernel.variable(shape.at(2)));
    let (column, row) = (kernel.variable(x()), kernel.variable(y()));
    let (tile_column, tile_row) =
        (kernel.variable(local(Axis::X)), kernel.variable(local(Axis::Y)));
    let place = kernel.variable(tile_row.value() * TILE + tile_column);
    let sum = kernel.float(0.0);
    kernel.repeat(0, inner, TILE, |kernel, first| {
        // Beyond the edge a tile holds zeros, which add nothing.
        let a_column = kernel.variable(first.value() + tile_column);
        kernel.store(a_tile, place, 0.0);
        kernel.when(row.value().less(rows).and(a_column.value().less(inner)), |kernel| {
            kernel.store(a_tile, place, a.at(row.value() * inner + a_column));
        });
        let b_row = kernel.variable(first.value() + tile_row);
        kernel.store(b_tile, place, 0.0);
        kernel.when(b_row.value().less(inner).and(column.value().less(columns)), |kernel| {
            kernel.store(b_tile, place, b.at(b_row.value() * columns + column));
        });
        kernel.barrier();
        kernel.repeat(0, TILE, 1, |kernel, k| {
            let left = a_tile.at(tile_row.value() * TILE + k);
            let right = b_tile.at(k.value() * TILE + tile_column);
            kernel.assign(sum, left.multiply_add(right, sum));
        });
        kernel.barrier();
    });
    kernel.when(row.value().less(rows).and(column.value().less(columns)), |kernel| {
        kernel.store(c, row.value() * columns + column, sum);
    });

    let [rows, inner, columns] = SHAPE.map(|extent| extent as usize);
    let (a_values, b_values) = (series(rows * inner, 5), series(inner * columns, 6));
    let mut products = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let terms =
                (0..inner).map(|k| (a_values[row * inner + k], b_values[k * columns + column]));
            products.push(terms.fold(0.0_f32, |sum, (left, right)| left.mul_add(right, sum)));
        }
    }
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Workgroups([SHAPE[2].div_ceil(TILE), SHAPE[0].div_ceil(TILE)]),
        bindings: vec![
            Binding::read(0, floats(&a_values), a_values.len()),
            Binding::read(1, floats(&b_values), b_values.len()),
            Binding::written(
                2,
                floats(&vec![f32::NAN; rows * columns]),
                rows * columns,
                Expected::F32 { values: products, relative: 1e-5, absolute: 1e-5 },
            ),
            Binding::read(3, super::words(&SHAPE), SHAPE.len()),
        ],
    })
}
