//! A persistent workgroup does for each turn what a workgroup of its own does.

use ptx_ir::reference::Work;
use ptx_ir::{Access, Axis, Element, Kernel, KernelBuilder, Statement, Type, local, workgroup, x};
use ptx_key::Feature;

use crate::machine::Order;
use crate::{Launch, configuration};

const THREADS: u32 = 32;
const WORKGROUPS: u32 = 5;

/// What the buffers hold afterwards: with as many workgroups as there is work, and with one that
/// stays.
fn both(kernel: &Kernel, features: &[Feature], before: &[(u32, Vec<u8>)]) -> [Vec<Vec<u8>>; 2] {
    [None, Some(Feature::PersistentThread)].map(|persistent| {
        let features: Vec<_> = features.iter().copied().chain(persistent).collect();
        let launch = Launch {
            kernel,
            configuration: &configuration(&features),
            work: Work::Workgroups([WORKGROUPS, 1]),
            persistent: 1,
            order: Order::Forward,
        };
        launch.run(before)
    })
}

fn words(length: u32) -> (u32, Vec<u8>) {
    (length, (0..length).flat_map(u32::to_le_bytes).collect())
}

#[test]
fn variables_are_zero_at_the_beginning_of_each_turn() {
    let mut kernel = KernelBuilder::new("counts", [THREADS, 1, 1]);
    let counts = kernel.buffer(0, Access::ReadWrite, Element::U32, None);
    let (count, seen) = (kernel.declare(Type::U32), kernel.declare(Type::Bool));
    let i = kernel.variable(x());
    kernel.assign(count, count.value() + 1);
    kernel.push(Statement::If {
        condition: seen.value(),
        then: vec![Statement::Assign(count, 1_000.into())],
        otherwise: Vec::new(),
    });
    kernel.assign(seen, count.value().equals(1));
    kernel.store(counts, i, count);
    let kernel = kernel.finish().unwrap();
    let [each, persistent] = both(&kernel, &[], &[words(THREADS * WORKGROUPS)]);
    assert_eq!(each, persistent);
    assert!(each[0].chunks_exact(4).all(|word| word == [1, 0, 0, 0]));
}

#[test]
fn copies_of_one_turn_do_not_reach_into_the_next() {
    let mut kernel = KernelBuilder::new("ahead", [THREADS, 1, 1]);
    let source = kernel.buffer(0, Access::Read, Element::U32, None);
    let output = kernel.buffer(1, Access::Write, Element::U32, None);
    let tile = kernel.buffer(2, Access::Workgroup, Element::U32, Some(THREADS));
    let (thread, i) = (kernel.variable(local(Axis::X)), kernel.variable(x()));
    let copy = |index| Statement::AsyncCopy {
        destination: tile,
        destination_index: thread.value(),
        source,
        source_index: index,
    };
    kernel.push(copy(i.value()));
    kernel.push(Statement::AsyncCommit);
    kernel.push(Statement::AsyncWait(0));
    kernel.store(output, i, tile.at(thread));
    // Begun and never used.
    kernel.push(copy(workgroup(Axis::X)));
    kernel.push(Statement::AsyncCommit);
    let kernel = kernel.finish().unwrap();
    let length = THREADS * WORKGROUPS;
    let before = [words(length), (length, vec![0; length as usize * 4])];
    let [each, persistent] = both(&kernel, &[Feature::AsyncCompute], &before);
    assert_eq!(each, persistent);
    assert_eq!(each[1], before[0].1);
}
