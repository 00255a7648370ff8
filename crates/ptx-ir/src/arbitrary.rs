//! Kernels for property tests: small, well-typed, and of every kind of statement and expression.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{
    Access, Axis, Binary, Buffer, BufferId, Comparison, Element, Expression, Index, Kernel,
    KernelParts, Reduction, Statement, Type, Unary, VariableId, Workgroup,
};

/// Buffers of each generated kernel, by position; slots are shuffled, storage counts vary.
const BUFFERS: [(Access, Element); 6] = [
    (Access::Read, Element::F32),
    (Access::ReadWrite, Element::U32),
    (Access::Uniform, Element::I32),
    (Access::Workgroup, Element::F32),
    (Access::ReadWrite, Element::F16),
    (Access::Write, Element::F32),
];

/// Variables of each generated kernel, by position.
const VARIABLES: [Type; 4] = [Type::F32, Type::U32, Type::I32, Type::U32];

/// The variable that loops count with. No other statement assigns it, so that loops end.
const COUNTER: VariableId = VariableId(3);

/// Kernels that [`Kernel::new`] accepts.
pub fn kernel() -> impl Strategy<Value = Kernel> {
    let name = select(vec!["kernel", "step", "forward"]).prop_map(str::to_owned);
    let size = select(vec![[32, 1, 1], [64, 1, 1], [128, 1, 1], [256, 1, 1]]);
    let slots = Just((0..6_u32).collect::<Vec<_>>()).prop_shuffle();
    let counts = vec(prop::option::of(1_u32..5_000), BUFFERS.len());
    (name, size, any::<bool>(), slots, counts, 1_u32..512, body())
        .prop_map(|(name, size, fixed, slots, counts, shared, body)| {
            let bound = BUFFERS.iter().zip(slots).zip(counts);
            let buffers = bound.map(|(((access, element), slot), count)| Buffer {
                slot,
                access: *access,
                element: *element,
                count: if *access == Access::Workgroup { Some(shared) } else { count },
            });
            KernelParts {
                name,
                workgroup: Workgroup { size, fixed },
                buffers: buffers.collect(),
                variables: VARIABLES.to_vec(),
                body,
            }
        })
        .prop_filter_map("every generated kernel is well-formed", |parts| Kernel::new(parts).ok())
}

fn body() -> impl Strategy<Value = Vec<Statement>> {
    let simple = prop_oneof![
        4 => (select(vec![0_u32, 1, 2]), expression(Type::F32), expression(Type::U32), expression(Type::I32))
            .prop_map(|(variable, float, unsigned, signed)| {
                let value = match variable { 0 => float, 1 => unsigned, _ => signed };
                Statement::Assign(VariableId(variable), value)
            }),
        2 => (select(vec![3_u32, 4, 5]), expression(Type::U32), expression(Type::F32))
            .prop_map(|(buffer, index, value)| Statement::Store { buffer: BufferId(buffer), index, value }),
        1 => (expression(Type::U32), expression(Type::U32))
            .prop_map(|(index, value)| Statement::AtomicAdd { buffer: BufferId(1), index, value }),
        1 => Just(Statement::Barrier),
        1 => (select(vec![Reduction::Sum, Reduction::Maximum]), expression(Type::F32))
            .prop_map(|(reduction, value)| Statement::Reduce { variable: VariableId(0), reduction, value }),
        1 => (expression(Type::U32), expression(Type::U32)).prop_map(|(to, from)| {
            Statement::AsyncCopy {
                destination: BufferId(3),
                destination_index: to,
                source: BufferId(0),
                source_index: from,
            }
        }),
        1 => Just(Statement::AsyncCommit),
        1 => (0_u32..4).prop_map(Statement::AsyncWait),
    ];
    let statement = simple.prop_recursive(2, 8, 3, |inner| {
        let block = || vec(inner.clone(), 0..3);
        prop_oneof![
            (expression(Type::Bool), block(), block()).prop_map(|(condition, then, otherwise)| {
                Statement::If { condition, then, otherwise }
            }),
            (expression(Type::U32), expression(Type::U32), 1_u32..5, block()).prop_map(
                |(from, to, step, body)| Statement::For { variable: COUNTER, from, to, step, body }
            ),
        ]
    });
    vec(statement, 1..5)
}

/// Expressions of this type.
pub fn expression(kind: Type) -> BoxedStrategy<Expression> {
    nested(kind, 2)
}

fn nested(kind: Type, depth: u32) -> BoxedStrategy<Expression> {
    let leaf = leaf(kind);
    if depth == 0 {
        return leaf;
    }
    let inner = move |kind| nested(kind, depth - 1).prop_map(Box::new);
    let deeper = match kind {
        Type::Bool => prop_oneof![
            (comparison(), inner(Type::F32), inner(Type::F32))
                .prop_map(|(comparison, left, right)| Expression::Compare(comparison, left, right)),
            (comparison(), inner(Type::U32), inner(Type::U32))
                .prop_map(|(comparison, left, right)| Expression::Compare(comparison, left, right)),
            inner(Type::Bool).prop_map(|operand| Expression::Unary(Unary::Not, operand)),
        ]
        .boxed(),
        Type::F32 => prop_oneof![
            inner(Type::U32).prop_map(|index| Expression::Load(BufferId(0), index)),
            inner(Type::U32).prop_map(|index| Expression::Load(BufferId(4), index)),
            (select(vec![Unary::Negate, Unary::SquareRoot, Unary::Exponential]), inner(kind))
                .prop_map(|(operation, operand)| Expression::Unary(operation, operand)),
            (select(ARITHMETIC.to_vec()), inner(kind), inner(kind))
                .prop_map(|(operation, left, right)| Expression::Binary(operation, left, right)),
            (inner(kind), inner(kind), inner(kind))
                .prop_map(|(a, b, c)| Expression::FusedMultiplyAdd(a, b, c)),
            inner(Type::I32).prop_map(|operand| Expression::Cast(Type::F32, operand)),
        ]
        .boxed(),
        Type::U32 | Type::I32 => prop_oneof![
            inner(Type::U32).prop_map(move |index| {
                Expression::Load(BufferId(if kind == Type::U32 { 1 } else { 2 }), index)
            }),
            (select([ARITHMETIC.as_slice(), &BITWISE].concat()), inner(kind), inner(kind))
                .prop_map(|(operation, left, right)| Expression::Binary(operation, left, right)),
            (inner(Type::Bool), inner(kind), inner(kind))
                .prop_map(|(condition, yes, no)| Expression::Select(condition, yes, no)),
            inner(Type::F32).prop_map(move |operand| Expression::Cast(kind, operand)),
        ]
        .boxed(),
    };
    prop_oneof![1 => leaf, 2 => deeper].boxed()
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
