//! What does a kernel mean, statement by statement, for workgroups of one thread? It shares nothing
//! with the emitter. `None` is what the IR leaves open: division by zero, access to the destination
//! of an unfinished copy, and loops that take too long.

use half::f16;
use ptx_ir::{
    Axis, Binary, BufferId, Comparison, Element, Expression, Index, Kernel, Statement, Type, Unary,
    VariableId,
};

use crate::operation::lesser;

/// The most statements of one thread.
const MOST_STATEMENTS: u32 = 2_000;

#[derive(Clone, Copy, Debug)]
enum Value {
    F32(f32),
    U32(u32),
    I32(i32),
    Bool(bool),
}

use Value::{Bool, F32, I32, U32};

/// An unfinished copy: the destination and the bits.
type Copy = (BufferId, u32, u32);

struct Thread<'k> {
    kernel: &'k Kernel,
    /// The bits of each element, by the buffer's position.
    buffers: &'k mut [Vec<u32>],
    variables: Vec<Value>,
    workgroup: u32,
    statements: u32,
    begun: Vec<Copy>,
    groups: Vec<Vec<Copy>>,
}

/// Runs this many workgroups along x in turn.
pub(crate) fn interpret(kernel: &Kernel, workgroups: u32, buffers: &mut [Vec<u32>]) -> Option<()> {
    for workgroup in 0..workgroups {
        let zero = |kind: &Type| match kind {
            Type::F32 => F32(0.0),
            Type::U32 => U32(0),
            Type::I32 => I32(0),
            Type::Bool => Bool(false),
        };
        let variables = kernel.variables.iter().map(zero).collect();
        let (begun, groups) = (Vec::new(), Vec::new());
        let mut thread =
            Thread { kernel, buffers, variables, workgroup, statements: 0, begun, groups };
        thread.block(&kernel.body)?;
    }
    Some(())
}

impl Thread<'_> {
    fn block(&mut self, statements: &[Statement]) -> Option<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        self.statements += 1;
        if self.statements > MOST_STATEMENTS {
            return None;
        }
        match statement {
            // A workgroup of one thread.
            Statement::Assign(variable, value) | Statement::Reduce { variable, value, .. } => {
                let value = self.value(value)?;
                self.assign(*variable, value);
            }
            Statement::Store { buffer, index, value } => {
                let (index, value) = (self.unsigned(index)?, self.value(value)?);
                self.store(*buffer, index, value)?;
            }
            Statement::AtomicAdd { buffer, index, value } => {
                let (index, value) = (self.unsigned(index)?, self.value(value)?);
                let before = self.load(*buffer, index)?;
                self.store(*buffer, index, binary(Binary::Add, before, value)?)?;
            }
            Statement::If { condition, then, otherwise } => match self.value(condition)? {
                Bool(true) => self.block(then)?,
                _ => self.block(otherwise)?,
            },
            Statement::For { variable, from, to, step, body } => {
                let (from, to) = (self.unsigned(from)?, self.unsigned(to)?);
                self.assign(*variable, U32(from));
                while let U32(now) = self.variables[variable.0 as usize] {
                    if now >= to {
                        break;
                    }
                    self.statements += 1;
                    if self.statements > MOST_STATEMENTS {
                        return None;
                    }
                    self.block(body)?;
                    if let U32(now) = self.variables[variable.0 as usize] {
                        self.assign(*variable, U32(now.wrapping_add(*step)));
                    }
                }
            }
            Statement::Barrier => {}
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                let (to, from) = (self.unsigned(destination_index)?, self.unsigned(source_index)?);
                let bits = self.buffers[source.0 as usize].get(from as usize).copied();
                self.not_awaited(*destination, to)?;
                self.begun.push((*destination, to, bits.unwrap_or(0)));
            }
            Statement::AsyncCommit => {
                let group = std::mem::take(&mut self.begun);
                self.groups.push(group);
            }
            Statement::AsyncWait(most) => {
                let arrived = self.groups.len().saturating_sub(*most as usize);
                for (buffer, index, bits) in self.groups.drain(..arrived).flatten() {
                    self.buffers[buffer.0 as usize][index as usize] = bits;
                }
            }
        }
        Some(())
    }

    fn assign(&mut self, variable: VariableId, value: Value) {
        self.variables[variable.0 as usize] = value;
    }

    fn not_awaited(&self, buffer: BufferId, index: u32) -> Option<()> {
        let mut under_way = self.groups.iter().flatten().chain(&self.begun);
        (!under_way.any(|(to, place, _)| (*to, *place) == (buffer, index))).then_some(())
    }

    fn element(&self, buffer: BufferId) -> Element {
        self.kernel.buffers[buffer.0 as usize].element
    }

    fn load(&self, buffer: BufferId, index: u32) -> Option<Value> {
        self.not_awaited(buffer, index)?;
        let bits = self.buffers[buffer.0 as usize][index as usize];
        Some(match self.element(buffer) {
            Element::F32 => F32(f32::from_bits(bits)),
            Element::F16 => F32(f16::from_bits(bits as u16).to_f32()),
            Element::U32 => U32(bits),
            Element::I32 => I32(bits.cast_signed()),
            Element::Bf16 => panic!("the generator uses no brain floats"),
        })
    }

    fn store(&mut self, buffer: BufferId, index: u32, value: Value) -> Option<()> {
        self.not_awaited(buffer, index)?;
        let bits = match (value, self.element(buffer)) {
            (F32(value), Element::F16) => f16::from_f32(value).to_bits().into(),
            (F32(value), _) => value.to_bits(),
            (U32(value), _) => value,
            (I32(value), _) => value.cast_unsigned(),
            (Bool(_), _) => panic!("no buffer holds truth values"),
        };
        self.buffers[buffer.0 as usize][index as usize] = bits;
        Some(())
    }

    fn unsigned(&self, expression: &Expression) -> Option<u32> {
        match self.value(expression)? {
            U32(value) => Some(value),
            other => panic!("{other:?} is not a u32"),
        }
    }

    fn value(&self, expression: &Expression) -> Option<Value> {
        Some(match expression {
            Expression::F32(value) => F32(*value),
            Expression::U32(value) => U32(*value),
            Expression::I32(value) => I32(*value),
            Expression::Variable(variable) => self.variables[variable.0 as usize],
            Expression::Position(Index::Global | Index::Workgroup, Axis::X) => U32(self.workgroup),
            Expression::Position(..) => U32(0),
            Expression::WorkgroupSize(_) => U32(1),
            Expression::Length(buffer) => U32(self.buffers[buffer.0 as usize].len() as u32),
            Expression::Load(buffer, index) => self.load(*buffer, self.unsigned(index)?)?,
            Expression::Unary(operation, operand) => match (operation, self.value(operand)?) {
                (Unary::Negate, F32(value)) => F32(-value),
                (Unary::Negate, I32(value)) => I32(value.wrapping_neg()),
                (Unary::Not, Bool(value)) => Bool(!value),
                (operation, value) => panic!("{operation:?} of {value:?}"),
            },
            Expression::Binary(operation, left, right) => {
                binary(*operation, self.value(left)?, self.value(right)?)?
            }
            Expression::Compare(comparison, left, right) => {
                Bool(match (self.value(left)?, self.value(right)?) {
                    (F32(left), F32(right)) => compare(*comparison, &left, &right),
                    (U32(left), U32(right)) => compare(*comparison, &left, &right),
                    (I32(left), I32(right)) => compare(*comparison, &left, &right),
                    values => panic!("{comparison:?} of {values:?}"),
                })
            }
            Expression::Select(condition, yes, no) => {
                let (yes, no) = (self.value(yes)?, self.value(no)?);
                if matches!(self.value(condition)?, Bool(true)) { yes } else { no }
            }
            Expression::FusedMultiplyAdd(a, b, c) => {
                match (self.value(a)?, self.value(b)?, self.value(c)?) {
                    (F32(a), F32(b), F32(c)) => F32(a.mul_add(b, c)),
                    values => panic!("{values:?}"),
                }
            }
            Expression::Cast(to, operand) => match (to, self.value(operand)?) {
                (Type::F32, U32(value)) => F32(value as f32),
                (Type::F32, I32(value)) => F32(value as f32),
                (Type::U32, F32(value)) => U32(value as u32),
                (Type::U32, I32(value)) => U32(value.cast_unsigned()),
                (Type::I32, F32(value)) => I32(value as i32),
                (Type::I32, U32(value)) => I32(value.cast_signed()),
                (_, same) => same,
            },
        })
    }
}

fn compare<T: PartialOrd>(comparison: Comparison, left: &T, right: &T) -> bool {
    match comparison {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
    }
}

fn binary(operation: Binary, left: Value, right: Value) -> Option<Value> {
    Some(match (left, right) {
        (F32(a), F32(b)) => F32(match operation {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            Binary::Minimum => lesser(a, b),
            Binary::Maximum => -lesser(-a, -b),
            _ => panic!("{operation:?} of f32"),
        }),
        (U32(a), U32(b)) => U32(match operation {
            Binary::Divide => a.checked_div(b)?,
            Binary::Remainder => a.checked_rem(b)?,
            Binary::Minimum => a.min(b),
            Binary::Maximum => a.max(b),
            Binary::ShiftRight => a.checked_shr(b).unwrap_or(0),
            _ => bits(operation, a, b),
        }),
        (I32(_), I32(0)) if matches!(operation, Binary::Divide | Binary::Remainder) => return None,
        (I32(a), I32(b)) => I32(match operation {
            Binary::Divide => a.wrapping_div(b),
            Binary::Remainder => a.wrapping_rem(b),
            Binary::Minimum => a.min(b),
            Binary::Maximum => a.max(b),
            // The amount is unsigned: a negative one shifts every bit out.
            Binary::ShiftRight => a >> b.cast_unsigned().min(31),
            _ => bits(operation, a.cast_unsigned(), b.cast_unsigned()).cast_signed(),
        }),
        (left, right) => panic!("{operation:?} of {left:?} and {right:?}"),
    })
}

/// Computes what is the same for signed and unsigned integers.
fn bits(operation: Binary, a: u32, b: u32) -> u32 {
    match operation {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::ExclusiveOr => a ^ b,
        Binary::ShiftLeft => a.checked_shl(b).unwrap_or(0),
        _ => panic!("{operation:?} of bits"),
    }
}
