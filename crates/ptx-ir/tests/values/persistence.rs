//! Do persistent workgroups compute what others do?

use ptx_ir::reference::Work;
use ptx_ir::{
    Access, Axis, Comparison, Element, Expression, Index, Kernel, KernelParts, Statement, Type,
    VariableId, x,
};
use ptx_key::Feature;

use crate::machine::Order;
use crate::{Launch, configuration};

const THREADS: u32 = 32;
const WORKGROUPS: u32 = 5;

/// Returns what the buffers hold after a launch of as many workgroups as the work has, and after one
/// of a single persistent workgroup.
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
fn variables_are_zero_at_the_start_of_each_iteration() {
    let mut kernel = KernelParts::new("counts", [THREADS, 1, 1]);
    let counts = kernel.buffer(0, Access::ReadWrite, Element::U32, None);
    kernel.variables.extend([Type::U32, Type::Bool]);
    let [count, seen] = [0, 1].map(VariableId);
    let i = kernel.variable(Type::U32, x());
    kernel.assign(count, count.value() + 1);
    kernel.body.push(Statement::If {
        condition: seen.value(),
        then: vec![Statement::Assign(count, 1_000.into())],
        otherwise: Vec::new(),
    });
    let [left, right] = [count.value(), 1.into()].map(Box::new);
    kernel.assign(seen, Expression::Compare(Comparison::Equal, left, right));
    kernel.store(counts, i, count);
    let kernel = Kernel::new(&kernel).unwrap();
    let [each, persistent] = both(&kernel, &[], &[words(THREADS * WORKGROUPS)]);
    assert_eq!(each, persistent);
    assert!(each[0].chunks_exact(4).all(|word| word == [1, 0, 0, 0]));
}

#[test]
fn a_copy_of_one_iteration_does_not_reach_the_next() {
    let mut kernel = KernelParts::new("ahead", [THREADS, 1, 1]);
    let source = kernel.buffer(0, Access::Read, Element::U32, None);
    let output = kernel.buffer(1, Access::ReadWrite, Element::U32, None);
    let tile = kernel.buffer(2, Access::Workgroup, Element::U32, Some(THREADS));
    let thread = kernel.variable(Type::U32, Expression::Position(Index::Local, Axis::X));
    let i = kernel.variable(Type::U32, x());
    let copy = |index| Statement::AsyncCopy {
        destination: tile,
        destination_index: thread.value(),
        source,
        source_index: index,
    };
    kernel.body.push(copy(i.value()));
    kernel.body.push(Statement::AsyncCommit);
    kernel.body.push(Statement::AsyncWait(0));
    kernel.store(output, i, tile.at(thread));
    // Nothing waits for this one.
    kernel.body.push(copy(Expression::Position(Index::Workgroup, Axis::X)));
    kernel.body.push(Statement::AsyncCommit);
    let kernel = Kernel::new(&kernel).unwrap();
    let length = THREADS * WORKGROUPS;
    let before = [words(length), (length, vec![0; length as usize * 4])];
    let [each, persistent] = both(&kernel, &[Feature::AsyncCompute], &before);
    assert_eq!(each, persistent);
    assert_eq!(each[1], before[0].1);
}
