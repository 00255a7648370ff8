//! Do asynchronous copies arrive in time? A pipeline copies the next tile while it computes one.

use super::binding::{Binding, Reference, Work, floats, series};
use crate::{
    Access, Axis, Element, Expression, Index, Kernel, KernelParts, LowerError, Statement, Type,
};

const TILE: u32 = 128;
const TILES: u32 = 6;
const LENGTH: u32 = 1_500;

/// Each workgroup takes six tiles of a list in turn through two halves of workgroup memory. It
/// writes the difference of each element and its right neighbour within the tile.
pub(super) fn pipeline() -> Result<Reference, LowerError> {
    let mut kernel = KernelParts::new("pipeline", [TILE, 1, 1]);
    kernel.fixed_workgroup = true;
    // With asynchronous copies the code contains the count.
    let source = kernel.buffer(0, Access::Read, Element::F32, Some(LENGTH));
    let output = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
    let halves = kernel.buffer(2, Access::Workgroup, Element::F32, Some(2 * TILE));
    let thread = kernel.variable(Type::U32, Expression::Position(Index::Local, Axis::X));
    let group = Expression::Position(Index::Workgroup, Axis::X);
    let begin = kernel.variable(Type::U32, group * (TILE * TILES));
    let fetch = |kernel: &mut KernelParts, tile: Expression| {
        let half = (tile.clone() % 2) * TILE;
        kernel.body.push(Statement::AsyncCopy {
            destination: halves,
            destination_index: half + thread,
            source,
            source_index: begin.value() + tile * TILE + thread,
        });
        kernel.body.push(Statement::AsyncCommit);
    };
    fetch(&mut kernel, 0.into());
    kernel.repeat(0, TILES, 1, |kernel, tile| {
        // Each iteration starts one group, so all but the last have arrived. The last iteration
        // copies a tile that no thread uses, into the half that no thread reads.
        fetch(kernel, tile.value() + 1);
        kernel.body.push(Statement::AsyncWait(1));
        kernel.body.push(Statement::Barrier);
        let half = kernel.variable(Type::U32, (tile.value() % 2) * TILE);
        let place = kernel.variable(Type::U32, begin.value() + tile.value() * TILE + thread);
        kernel.when(place.value().less(output.length()), |kernel| {
            let right = halves.at(half.value() + (thread.value() + 1) % TILE);
            kernel.store(output, place, halves.at(half.value() + thread) - right);
        });
        // The next iteration overwrites the half that was read here.
        kernel.body.push(Statement::Barrier);
    });

    let values = series(LENGTH, 9);
    let (length, tile) = (LENGTH as usize, TILE as usize);
    let differences: Vec<_> = (0..length)
        .map(|place| {
            let right = place / tile * tile + (place + 1) % tile;
            values[place] - values.get(right).copied().unwrap_or(0.0)
        })
        .collect();
    let expected = floats(&differences);
    Ok(Reference {
        kernel: Kernel::new(&kernel)?,
        work: Work::Workgroups([LENGTH.div_ceil(TILE * TILES), 1]),
        bindings: vec![
            Binding::input(0, floats(&values)),
            Binding::output(1, floats(&vec![f32::NAN; length]), expected),
        ],
    })
}
