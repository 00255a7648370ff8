//! Which values can a kernel compute?

use std::{fmt, ops};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// A 32-bit floating-point number.
    F32,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 32-bit integer.
    I32,
    /// A truth value.
    Bool,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "an f32",
            Self::U32 => "a u32",
            Self::I32 => "an i32",
            Self::Bool => "a bool",
        })
    }
}

/// A buffer, by its position in [`KernelParts::buffers`](crate::KernelParts::buffers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A variable, by its position in [`KernelParts::variables`](crate::KernelParts::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub u32);

/// One of the three axes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

/// An index that says where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// The thread, in the whole launch.
    Global,
    /// The thread, in its workgroup.
    Local,
    /// The thread's workgroup, in the whole launch.
    Workgroup,
}

/// An operation on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// `-a` of an f32 or i32.
    Negate,
    /// `!a` of a bool.
    Not,
    /// e to the power of an f32.
    Exponential,
}

/// An operation on two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Sum. Integers wrap around.
    Add,
    /// Difference. Integers wrap around.
    Subtract,
    /// Product. Integers wrap around.
    Multiply,
    /// Quotient. Integer division by zero is unspecified.
    Divide,
    /// Remainder of integers. Division by zero is unspecified.
    Remainder,
    /// The smaller number.
    Minimum,
    /// The larger number.
    Maximum,
    /// And of the bits of integers, or of bools.
    And,
    /// Or of the bits of integers, or of bools.
    Or,
    /// Exclusive or of the bits of integers.
    ExclusiveOr,
    /// Integer shifted left. A shift by 32 or more leaves no bit.
    ShiftLeft,
    /// Integer shifted right. An i32 keeps its sign.
    ShiftRight,
}

/// A comparison of two numbers of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
}

/// A typed value. The operators `+ - * / % &` build expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    F32(f32),
    /// A constant.
    U32(u32),
    /// A constant.
    I32(i32),
    /// The value of a variable.
    Variable(VariableId),
    /// An index of the thread along an axis, a u32.
    Position(Index, Axis),
    /// The extent of the workgroup along an axis, a u32.
    WorkgroupSize(Axis),
    /// The number of elements of a storage buffer, a u32 that the launch passes.
    Length(BufferId),
    /// The element of a buffer at an index, a u32. Halves widen to f32.
    Load(BufferId, Box<Expression>),
    /// See [`Unary`].
    Unary(Unary, Box<Expression>),
    /// See [`Binary`].
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// See [`Comparison`]. The value is a bool.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// The second operand if the first is true, else the third.
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `a * b + c` of f32, rounded once.
    FusedMultiplyAdd(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A number converted to a type. An f32 rounds towards zero.
    Cast(Type, Box<Expression>),
}

impl Expression {
    /// `self < other`
    #[must_use]
    pub fn less(self, other: impl Into<Self>) -> Self {
        Self::Compare(Comparison::Less, Box::new(self), Box::new(other.into()))
    }

    /// `self * factor + addend`, rounded once.
    #[must_use]
    pub fn multiply_add(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        Self::FusedMultiplyAdd(Box::new(self), Box::new(factor.into()), Box::new(addend.into()))
    }
}

impl From<f32> for Expression {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

/// The only conversion from an integer, so that a bare literal is a u32, as indices are. An i32 is
/// written [`Expression::I32`].
impl From<u32> for Expression {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<VariableId> for Expression {
    fn from(variable: VariableId) -> Self {
        Self::Variable(variable)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $operation:ident) => {
        impl<R: Into<Expression>> ops::$trait<R> for Expression {
            type Output = Self;

            fn $method(self, other: R) -> Self {
                Self::Binary(Binary::$operation, Box::new(self), Box::new(other.into()))
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);
operator!(Rem, rem, Remainder);
operator!(BitAnd, bitand, And);

impl BufferId {
    /// The element at an index.
    #[must_use]
    pub fn at(self, index: impl Into<Expression>) -> Expression {
        Expression::Load(self, Box::new(index.into()))
    }

    /// The number of elements, which the launch passes.
    #[must_use]
    pub fn length(self) -> Expression {
        Expression::Length(self)
    }
}

impl VariableId {
    /// The value of the variable.
    #[must_use]
    pub fn value(self) -> Expression {
        self.into()
    }
}
