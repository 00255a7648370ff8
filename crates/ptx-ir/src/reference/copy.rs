//! A pipeline of asynchronous copies: while one tile is worked on, the next one is on its way.

use super::{Binding, Expected, Reference, Work, floats, series};
use crate::{Access, Axis, Element, KernelBuilder, LowerError, Statement, local, workgroup};

const TILE: u32 = 128;
const TILES: u32 = 6;
const LENGTH: u32 = 1_500;

/// Each workgroup takes six tiles of a list, one after the other, through two halves of workgroup
/// memory, and writes the difference of each element and its right neighbour within the tile.
pub(super) fn pipeline() -> Result<Reference, LowerError> {
    let mut kernel = KernelBuilder::new("pipeline", [TILE, 1, 1]);
    kernel.fix_workgroup();
    // The count is known, and with asynchronous copies it is in the code.
    let source = kernel.buffer(0, Access::Read, Element::F32, Some(LENGTH));
    let output = kernel.buffer(1, Access::Write, Element::F32, None);
    let halves = kernel.buffer(2, Access::Workgroup, Element::F32, Some(2 * TILE));
    let thread = kernel.variable(local(Axis::X));
    let begin = kernel.variable(workgroup(Axis::X) * (TILE * TILES));
    let fetch = |kernel: &mut KernelBuilder, tile: crate::Expression| {
        let half = (tile.clone() % 2) * TILE;
        kernel.push(Statement::AsyncCopy {
            destination: halves,
            destination_index: half + thread,
            source,
            source_index: begin.value() + tile * TILE + thread,
        });
        kernel.push(Statement::AsyncCommit);
    };
    fetch(&mut kernel, 0.into());
    kernel.repeat(0, TILES, 1, |kernel, tile| {
        // One group is begun in every turn, so that all but the last one have arrived. The last
        // turn's copy is of a tile that nobody uses, into the half that nobody reads.
        fetch(kernel, tile.value() + 1);
        kernel.push(Statement::AsyncWait(1));
        kernel.barrier();
        let half = kernel.variable((tile.value() % 2) * TILE);
        let place = kernel.variable(begin.value() + tile.value() * TILE + thread);
        kernel.when(place.value().less(output.length()), |kernel| {
            let right = halves.at(half.value() + (thread.value() + 1) % TILE);
            kernel.store(output, place, halves.at(half.value() + thread) - right);
        });
        // The next turn overwrites the half that was read here.
        kernel.barrier();
    });

    let length = LENGTH as usize;
    let values = series(length, 9);
    let tile = TILE as usize;
    let expected = (0..length).map(|place| {
        let right = place / tile * tile + (place + 1) % tile;
        values[place] - values.get(right).copied().unwrap_or(0.0)
    });
    Ok(Reference {
        kernel: kernel.finish()?,
        work: Work::Workgroups([LENGTH.div_ceil(TILE * TILES), 1]),
        bindings: vec![
            Binding::read(0, floats(&values), length),
            Binding::written(
                1,
                floats(&vec![f32::NAN; length]),
                length,
                Expected::F32 { values: expected.collect(), relative: 0.0, absolute: 0.0 },
            ),
        ],
    })
}
