//! Expressions: typed values computed from buffers, variables and built-in indices.

use std::ops;

/// What a value is.
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

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::F32 => "an f32",
            Self::U32 => "a u32",
            Self::I32 => "an i32",
            Self::Bool => "a bool",
        })
    }
}

/// A buffer of a kernel, by its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A variable of a kernel, by its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub u32);

/// One of three directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// In the whole launch.
    Global,
    /// In its workgroup.
    Local,
    /// Its workgroup, among all.
    Workgroup,
}

/// An operation on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// `-a`, of a number.
    Negate,
    /// `!a`, of a truth value.
    Not,
    /// The square root of an f32.
    SquareRoot,
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
    /// Quotient. An integer divided by zero is unspecified.
    Divide,
    /// Remainder of integers.
    Remainder,
    /// The smaller.
    Minimum,
    /// The larger.
    Maximum,
    /// Bits in both, or truth of both.
    And,
    /// Bits in either, or truth of either.
    Or,
    /// Bits of integers in one of the two.
    ExclusiveOr,
    /// Bits of an integer moved up; by 32 or more, none are left.
    ShiftLeft,
    /// Bits of an integer moved down, keeping an i32's sign.
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

/// A value. The arithmetic operators build these, so kernels read as they would in Rust.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    F32(f32),
    /// A constant.
    U32(u32),
    /// A constant.
    I32(i32),
    /// A variable's value.
    Variable(VariableId),
    /// Where the thread is, as a u32.
    Position(Index, Axis),
    /// The workgroup's extent, as a u32.
    WorkgroupSize(Axis),
    /// The number of elements of a storage buffer, given at launch, as a u32.
    Length(BufferId),
    /// The element of a buffer at an index of u32. Halves widen to f32.
    Load(BufferId, Box<Expression>),
    /// See [`Unary`].
    Unary(Unary, Box<Expression>),
    /// See [`Binary`].
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// See [`Comparison`].
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// The second where the first is true, else the third.
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `a * b + c` of f32, rounded once.
    FusedMultiplyAdd(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A number of another type; from f32, rounded towards zero.
    Cast(Type, Box<Expression>),
}

impl Expression {
    fn unary(self, operation: Unary) -> Self {
        Self::Unary(operation, Box::new(self))
    }

    fn binary(self, operation: Binary, other: Self) -> Self {
        Self::Binary(operation, Box::new(self), Box::new(other))
    }

    fn compare(self, comparison: Comparison, other: impl Into<Self>) -> Self {
        Self::Compare(comparison, Box::new(self), Box::new(other.into()))
    }

    /// `self < other`
    #[must_use]
    pub fn less(self, other: impl Into<Self>) -> Self {
        self.compare(Comparison::Less, other)
    }

    /// `self == other`
    #[must_use]
    pub fn equals(self, other: impl Into<Self>) -> Self {
        self.compare(Comparison::Equal, other)
    }

    /// The smaller of the two.
    #[must_use]
    pub fn minimum(self, other: impl Into<Self>) -> Self {
        self.binary(Binary::Minimum, other.into())
    }

    /// The larger of the two.
    #[must_use]
    pub fn maximum(self, other: impl Into<Self>) -> Self {
        self.binary(Binary::Maximum, other.into())
    }

    /// Both true, or the bits in both.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        self.binary(Binary::And, other.into())
    }

    /// e to this power.
    #[must_use]
    pub fn exponential(self) -> Self {
        self.unary(Unary::Exponential)
    }

    /// The square root.
    #[must_use]
    pub fn square_root(self) -> Self {
        self.unary(Unary::SquareRoot)
    }

    /// `self * factor + addend`, rounded once.
    #[must_use]
    pub fn multiply_add(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        Self::FusedMultiplyAdd(Box::new(self), Box::new(factor.into()), Box::new(addend.into()))
    }

    /// `self ? yes : no`
    #[must_use]
    pub fn select(self, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        Self::Select(Box::new(self), Box::new(yes.into()), Box::new(no.into()))
    }

    /// This number as another type.
    #[must_use]
    pub fn cast(self, to: Type) -> Self {
        Self::Cast(to, Box::new(self))
    }
}

impl From<f32> for Expression {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

/// Of the integers only u32, so that a bare literal is one: indices are. An i32 is written
/// [`Expression::I32`].
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
                self.binary(Binary::$operation, other.into())
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);
operator!(Rem, rem, Remainder);

impl BufferId {
    /// The element at `index`.
    #[must_use]
    pub fn at(self, index: impl Into<Expression>) -> Expression {
        Expression::Load(self, Box::new(index.into()))
    }

    /// The number of elements, given at launch.
    #[must_use]
    pub fn length(self) -> Expression {
        Expression::Length(self)
    }
}

impl VariableId {
    /// The variable's value.
    #[must_use]
    pub fn value(self) -> Expression {
        self.into()
    }
}
