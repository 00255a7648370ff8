//! Does every operation on integers, signed and unsigned, compute the right value at the edges?

use ptx_ir::reference::Work;
use ptx_ir::{Access, Binary, Element, Expression, Kernel, KernelParts, Type, x};

use crate::machine::Order;
use crate::{Launch, configuration};

const EDGES: [u32; 10] = [0, 1, 2, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// An operation, and its results for unsigned and signed operands.
type Case = (Binary, fn(u32, u32) -> u32, fn(i32, i32) -> i32);

const CASES: [Case; 12] = [
    (Binary::Add, u32::wrapping_add, i32::wrapping_add),
    (Binary::Subtract, u32::wrapping_sub, i32::wrapping_sub),
    (Binary::Multiply, u32::wrapping_mul, i32::wrapping_mul),
    (Binary::Divide, |a, b| a / b, i32::wrapping_div),
    (Binary::Remainder, |a, b| a % b, i32::wrapping_rem),
    (Binary::Minimum, u32::min, i32::min),
    (Binary::Maximum, u32::max, i32::max),
    (Binary::And, |a, b| a & b, |a, b| a & b),
    (Binary::Or, |a, b| a | b, |a, b| a | b),
    (Binary::ExclusiveOr, |a, b| a ^ b, |a, b| a ^ b),
    (
        Binary::ShiftLeft,
        |a, b| if b < 32 { a << b } else { 0 },
        |a, b| if (0..32).contains(&b) { a << b } else { 0 },
    ),
    (
        Binary::ShiftRight,
        |a, b| if b < 32 { a >> b } else { 0 },
        // A negative amount is a large unsigned one.
        |a, b| if (0..32).contains(&b) { a >> b } else { a >> 31 },
    ),
];

/// Computes the operation on each pair by running its text.
fn evaluate(operation: Binary, element: Element, pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut kernel = KernelParts::new("one_operation", [64, 1, 1]);
    let [left, right] = [0, 1].map(|slot| kernel.buffer(slot, Access::Read, element, None));
    let output = kernel.buffer(2, Access::ReadWrite, element, None);
    let i = kernel.variable(Type::U32, x());
    kernel.when(i.value().less(output.length()), |kernel| {
        let value = Expression::Binary(operation, left.at(i).into(), right.at(i).into());
        kernel.store(output, i, value);
    });
    let length = u32::try_from(pairs.len()).unwrap();
    let launch = Launch {
        kernel: &Kernel::new(&kernel).unwrap(),
        configuration: &configuration(&[]),
        work: Work::Threads(length),
        persistent: 1,
        order: Order::Forward,
    };
    let bytes = |side: fn(&(u32, u32)) -> u32| {
        (length, pairs.iter().flat_map(|pair| side(pair).to_le_bytes()).collect())
    };
    let before = [bytes(|pair| pair.0), bytes(|pair| pair.1), bytes(|_| 0)];
    let after = launch.run(&before).swap_remove(2);
    after.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn every_operation_at_the_edges() {
    for (operation, unsigned, signed) in CASES {
        let divides = matches!(operation, Binary::Divide | Binary::Remainder);
        let pairs: Vec<_> = EDGES
            .iter()
            .flat_map(|left| EDGES.map(|right| (*left, right)))
            .filter(|(_, right)| !divides || *right != 0)
            .collect();
        let found = evaluate(operation, Element::U32, &pairs);
        for ((left, right), found) in pairs.iter().zip(found) {
            assert_eq!(found, unsigned(*left, *right), "{operation:?} of {left} and {right}");
        }
        let found = evaluate(operation, Element::I32, &pairs);
        for ((left, right), found) in pairs.iter().zip(found) {
            let (left, right) = (left.cast_signed(), right.cast_signed());
            let expected = signed(left, right);
            assert_eq!(found.cast_signed(), expected, "{operation:?} of {left} and {right}");
        }
    }
}
