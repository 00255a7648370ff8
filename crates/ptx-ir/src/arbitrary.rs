//! Generates kernels for property tests: small, well-typed, and with every kind of statement and
//! expression.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{
    Access, Axis, Binary, Buffer, BufferId, Comparison, Element, Expression, Index, Kernel,
    KernelParts, Reduction, Statement, Type, Unary, VariableId,
};

/// The buffers of each generated kernel, by position. Slots are shuffled and storage counts vary.
const BUFFERS: [(Access, Element); 6] = [
    (Access::Read, Element::F32),
    (Access::ReadWrite, Element::U32),
    (Access::Read, Element::I32),
    (Access::Workgroup, Element::F32),
    (Access::ReadWrite, Element::F16),
    (Access::ReadWrite, Element::F32),
];

/// The variables of each generated kernel, by position.
const VARIABLES: [Type; 4] = [Type::F32, Type::U32, Type::I32, Type::U32];

/// The variable of every loop. No other statement assigns it, so that loops end.
const COUNTER: VariableId = VariableId(3);

/// Generates kernels that [`Kernel::new`] accepts.
pub fn kernel() -> impl Strategy<Value = Kernel> {
    let name = select(vec!["kernel", "step", "forward"]).prop_map(str::to_owned);
    let workgroup = select(vec![[32, 1, 1], [64, 1, 1], [128, 1, 1], [256, 1, 1]]);
    let slots = Just((0..6_u32).collect::<Vec<_>>()).prop_shuffle();
    let counts = vec(prop::option::of(1_u32..5_000), BUFFERS.len());
    (name, workgroup, any::<bool>(), slots, counts, 1_u32..512, body())
        .prop_map(|(name, workgroup, fixed_workgroup, slots, counts, shared, body)| {
            let bound = BUFFERS.iter().zip(slots).zip(counts);
            let buffers = bound.map(|(((access, element), slot), count)| Buffer {
                slot,
                access: *access,
                element: *element,
                count: if *access == Access::Workgroup { Some(shared) } else { count },
            });
            KernelParts {
                name,
                workgroup,
                fixed_workgroup,
                buffers: buffers.collect(),
                variables: VARIABLES.to_vec(),
                body,
            }
        })
        .prop_filter_map("every generated kernel is well-formed", |parts| Kernel::new(&parts).ok())
}

fn body() -> impl Strategy<Value = Vec<Statement>> {
    let [float, unsigned, signed, truth] =
        [Type::F32, Type::U32, Type::I32, Type::Bool].map(|kind| expression(kind, 2));
    let index = || unsigned.clone();
    let simple = prop_oneof![
        4 => (select(vec![0_u32, 1, 2]), float.clone(), index(), signed).prop_map(
            |(variable, float, unsigned, signed)| {
                let value = match variable { 0 => float, 1 => unsigned, _ => signed };
                Statement::Assign(VariableId(variable), value)
            }
        ),
        2 => (select(vec![3_u32, 4, 5]), index(), float.clone()).prop_map(
            |(buffer, index, value)| Statement::Store { buffer: BufferId(buffer), index, value }
        ),
        1 => (index(), index())
            .prop_map(|(index, value)| Statement::AtomicAdd { buffer: BufferId(1), index, value }),
        1 => Just(Statement::Barrier),
        1 => (select(vec![Reduction::Sum, Reduction::Maximum]), float).prop_map(
            |(reduction, value)| Statement::Reduce { variable: VariableId(0), reduction, value }
        ),
        1 => (index(), index()).prop_map(|(to, from)| Statement::AsyncCopy {
            destination: BufferId(3),
            destination_index: to,
            source: BufferId(0),
            source_index: from,
        }),
        1 => Just(Statement::AsyncCommit),
        1 => (0_u32..4).prop_map(Statement::AsyncWait),
    ];
    let statement = simple.prop_recursive(2, 8, 3, move |inner| {
        let block = || vec(inner.clone(), 0..3);
        prop_oneof![
            (truth.clone(), block(), block()).prop_map(|(condition, then, otherwise)| {
                Statement::If { condition, then, otherwise }
            }),
            (unsigned.clone(), unsigned.clone(), 1_u32..5, block()).prop_map(
                |(from, to, step, body)| Statement::For { variable: COUNTER, from, to, step, body }
            ),
        ]
    });
    vec(statement, 1..5)
}

/// Generates expressions of a type that nest at most this deep.
fn expression(kind: Type, depth: u32) -> BoxedStrategy<Expression> {
    if depth == 0 {
        return leaf(kind);
    }
    let of = |kind| expression(kind, depth - 1).prop_map(Box::new);
    let binary = |(operation, left, right)| Expression::Binary(operation, left, right);
    match kind {
        Type::Bool => {
            let compare = |kind| {
                (comparison(), of(kind), of(kind)).prop_map(|(comparison, left, right)| {
                    Expression::Compare(comparison, left, right)
                })
            };
            let not = of(kind).prop_map(|operand| Expression::Unary(Unary::Not, operand));
            prop_oneof![leaf(kind), compare(Type::F32), compare(Type::U32), not].boxed()
        }
        Type::F32 => prop_oneof![
            3 => leaf(kind),
            2 => (select(vec![0, 4]), of(Type::U32))
                .prop_map(|(buffer, index)| Expression::Load(BufferId(buffer), index)),
            1 => (select(vec![Unary::Negate, Unary::Exponential]), of(kind))
                .prop_map(|(operation, operand)| Expression::Unary(operation, operand)),
            1 => (select(ARITHMETIC.to_vec()), of(kind), of(kind)).prop_map(binary),
            1 => (of(kind), of(kind), of(kind))
                .prop_map(|(a, b, c)| Expression::FusedMultiplyAdd(a, b, c)),
            1 => of(Type::I32).prop_map(|operand| Expression::Cast(Type::F32, operand)),
        ]
        .boxed(),
        Type::U32 | Type::I32 => {
            let buffer = BufferId(if kind == Type::U32 { 1 } else { 2 });
            let operations = select([ARITHMETIC.as_slice(), &BITWISE].concat());
            prop_oneof![
                2 => leaf(kind),
                1 => of(Type::U32).prop_map(move |index| Expression::Load(buffer, index)),
                1 => (operations, of(kind), of(kind)).prop_map(binary),
                1 => (of(Type::Bool), of(kind), of(kind))
                    .prop_map(|(condition, yes, no)| Expression::Select(condition, yes, no)),
                1 => of(Type::F32).prop_map(move |operand| Expression::Cast(kind, operand)),
            ]
            .boxed()
        }
    }
}

const ARITHMETIC: [Binary; 6] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Minimum,
    Binary::Maximum,
];

const BITWISE: [Binary; 6] = [
    Binary::Remainder,
    Binary::And,
    Binary::Or,
    Binary::ExclusiveOr,
    Binary::ShiftLeft,
    Binary::ShiftRight,
];

fn comparison() -> impl Strategy<Value = Comparison> {
    select(vec![Comparison::Equal, Comparison::NotEqual, Comparison::Less, Comparison::LessOrEqual])
}

fn leaf(kind: Type) -> BoxedStrategy<Expression> {
    let axis = || select(vec![Axis::X, Axis::Y, Axis::Z]);
    match kind {
        Type::F32 => prop_oneof![
            (-8_i8..8).prop_map(|value| Expression::F32(f32::from(value) / 4.0)),
            Just(Expression::F32(-0.0)),
            Just(Expression::Variable(VariableId(0))),
        ]
        .boxed(),
        Type::U32 => prop_oneof![
            (0_u32..9).prop_map(Expression::U32),
            select(vec![1_u32, 3]).prop_map(|variable| Expression::Variable(VariableId(variable))),
            (select(vec![Index::Global, Index::Local, Index::Workgroup]), axis())
                .prop_map(|(index, axis)| Expression::Position(index, axis)),
            axis().prop_map(Expression::WorkgroupSize),
            select(vec![0_u32, 1, 4]).prop_map(|buffer| Expression::Length(BufferId(buffer))),
        ]
        .boxed(),
        Type::I32 => prop_oneof![
            (-9_i32..9).prop_map(Expression::I32),
            Just(Expression::Variable(VariableId(2))),
        ]
        .boxed(),
        Type::Bool => (comparison(), leaf(Type::U32), leaf(Type::U32))
            .prop_map(|(comparison, left, right)| {
                Expression::Compare(comparison, Box::new(left), Box::new(right))
            })
            .boxed(),
    }
}
