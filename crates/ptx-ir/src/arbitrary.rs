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
    // Made once: a recursive strategy makes what it holds anew for every value.
    let of = Expressions::nested(2);
    let (float, unsigned, signed, truth) = (of.f32, of.u32, of.i32, of.bool);
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

/// A strategy for the expressions of each type.
struct Expressions {
    f32: BoxedStrategy<Expression>,
    u32: BoxedStrategy<Expression>,
    i32: BoxedStrategy<Expression>,
    bool: BoxedStrategy<Expression>,
}

impl Expressions {
    /// Expressions that nest up to this deep.
    fn nested(depth: u32) -> Self {
        let leaves = Self {
            f32: leaf(Type::F32),
            u32: leaf(Type::U32),
            i32: leaf(Type::I32),
            bool: leaf(Type::Bool),
        };
        (0..depth).fold(leaves, |inner, _| inner.deeper())
    }

    /// Leaves, and operations on these.
    fn deeper(&self) -> Self {
        let boxed = |inner: &BoxedStrategy<Expression>| inner.clone().prop_map(Box::new);
        let (float, unsigned, signed, truth) =
            (|| boxed(&self.f32), || boxed(&self.u32), || boxed(&self.i32), || boxed(&self.bool));
        let compare = |(comparison, left, right)| Expression::Compare(comparison, left, right);
        let binary = |(operation, left, right)| Expression::Binary(operation, left, right);
        let choose = |(condition, yes, no)| Expression::Select(condition, yes, no);
        let integral = || select([ARITHMETIC.as_slice(), &BITWISE].concat());
        let unary = select(vec![Unary::Negate, Unary::SquareRoot, Unary::Exponential]);
        Self {
            bool: prop_oneof![
                leaf(Type::Bool),
                (comparison(), float(), float()).prop_map(compare),
                (comparison(), unsigned(), unsigned()).prop_map(compare),
                truth().prop_map(|operand| Expression::Unary(Unary::Not, operand)),
            ]
            .boxed(),
            f32: prop_oneof![
                3 => leaf(Type::F32),
                1 => unsigned().prop_map(|index| Expression::Load(BufferId(0), index)),
                1 => unsigned().prop_map(|index| Expression::Load(BufferId(4), index)),
                1 => (unary, float()).prop_map(|(operation, it)| Expression::Unary(operation, it)),
                1 => (select(ARITHMETIC.to_vec()), float(), float()).prop_map(binary),
                1 => (float(), float(), float())
                    .prop_map(|(a, b, c)| Expression::FusedMultiplyAdd(a, b, c)),
                1 => signed().prop_map(|operand| Expression::Cast(Type::F32, operand)),
            ]
            .boxed(),
            u32: prop_oneof![
                2 => leaf(Type::U32),
                1 => unsigned().prop_map(|index| Expression::Load(BufferId(1), index)),
                1 => (integral(), unsigned(), unsigned()).prop_map(binary),
                1 => (truth(), unsigned(), unsigned()).prop_map(choose),
                1 => float().prop_map(|operand| Expression::Cast(Type::U32, operand)),
            ]
            .boxed(),
            i32: prop_oneof![
                2 => leaf(Type::I32),
                1 => unsigned().prop_map(|index| Expression::Load(BufferId(2), index)),
                1 => (integral(), signed(), signed()).prop_map(binary),
                1 => (truth(), signed(), signed()).prop_map(choose),
                1 => float().prop_map(|operand| Expression::Cast(Type::I32, operand)),
            ]
            .boxed(),
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
