//! Is a kernel well-formed and well-typed?

use std::collections::BTreeSet;

use crate::{
    Access, Binary, Buffer, BufferId, Element, Expression, KernelParts, LowerError, Statement,
    Type, Unary, VariableId,
};

/// How deep statements may nest, and how deep expressions may.
const DEEPEST: usize = 64;

/// The workgroup memory in bytes that every device gives without being asked.
pub(crate) const MOST_SHARED: u64 = 48 * 1024;

/// Each buffer takes up to 12 of the 4,352 bytes of parameters that every version of PTX allows.
const MOST_BUFFERS: usize = 256;

const LONGEST_NAME: usize = 200;

/// What is wrong and what to do.
type Fault = String;

const NUMBERS: [Type; 3] = [Type::F32, Type::U32, Type::I32];
const INTEGERS: [Type; 2] = [Type::U32, Type::I32];

pub(crate) fn check(parts: &KernelParts) -> Result<(), LowerError> {
    check_name(&parts.name)
        .and_then(|()| check_workgroup(parts.workgroup))
        .and_then(|()| check_buffers(&parts.buffers))
        .and_then(|()| Checker { parts }.block("body", &parts.body, 0))
        .map_err(|what| LowerError::Kernel {
            kernel: parts.name.chars().take(LONGEST_NAME).collect(),
            what,
        })
}

fn check_name(name: &str) -> Result<(), Fault> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    // PTX reserves this one word.
    require(
        begins && plain && name.len() <= LONGEST_NAME && name != "WARP_SZ",
        "PTX does not allow this name: use letters, digits and underscores, a letter first, at \
         most 200 of them",
    )
}

/// Checks that a device can run workgroups of this size.
pub(crate) fn check_workgroup(size: [u32; 3]) -> Result<(), Fault> {
    let threads = size.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    if threads.is_some_and(|threads| (1..=1024).contains(&threads)) && size[2] <= 64 {
        return Ok(());
    }
    Err(format!(
        "no device runs a workgroup of {size:?}; each extent must be at least 1, the last at most \
         64, and the product at most 1024"
    ))
}

fn check_buffers(buffers: &[Buffer]) -> Result<(), Fault> {
    require(buffers.len() <= MOST_BUFFERS, "it has more than 256 buffers; merge some")?;
    let mut slots = BTreeSet::new();
    let mut shared = 0;
    for buffer in buffers {
        let slot = buffer.slot;
        if !slots.insert(slot) {
            return Err(format!("two buffers are bound to slot {slot}; use another slot"));
        }
        if buffer.access == Access::Workgroup {
            shared += buffer.shared_bytes().next_multiple_of(16);
            if buffer.shared_bytes() == 0 || shared > MOST_SHARED {
                return Err(format!(
                    "the workgroup buffer at slot {slot} needs a count of elements, and all \
                     workgroup buffers together at most 48 KiB"
                ));
            }
        }
    }
    Ok(())
}

fn require(fits: bool, what: &str) -> Result<(), Fault> {
    if fits { Ok(()) } else { Err(what.to_owned()) }
}

/// Checks the type of an operand.
fn one_of(place: &str, wanted: &[Type], found: Type) -> Result<(), Fault> {
    if wanted.contains(&found) {
        return Ok(());
    }
    let wanted: Vec<_> = wanted.iter().map(Type::to_string).collect();
    Err(format!("{place} needs {}, not {found}; cast it", wanted.join(" or ")))
}

fn check_depth(depth: usize) -> Result<(), Fault> {
    require(depth <= DEEPEST, "nested more than 64 deep; move parts into variables")
}

struct Checker<'k> {
    parts: &'k KernelParts,
}

impl Checker<'_> {
    fn buffer(&self, BufferId(id): BufferId) -> Result<Buffer, Fault> {
        let buffer = self.parts.buffers.get(id as usize).copied();
        buffer.ok_or_else(|| format!("the kernel has no buffer {id}; declare it"))
    }

    fn variable(&self, VariableId(id): VariableId) -> Result<Type, Fault> {
        let kind = self.parts.variables.get(id as usize).copied();
        kind.ok_or_else(|| format!("the kernel has no variable {id}; declare it"))
    }

    fn typed(&self, place: &str, wanted: Type, value: &Expression) -> Result<(), Fault> {
        one_of(place, &[wanted], self.type_of(value, 0)?)
    }

    fn block(&self, path: &str, statements: &[Statement], depth: usize) -> Result<(), Fault> {
        check_depth(depth).map_err(|fault| format!("{path}: {fault}"))?;
        for (number, statement) in statements.iter().enumerate() {
            let path = format!("{path}[{number}]");
            self.statement(statement).map_err(|fault| format!("{path}: {fault}"))?;
            match statement {
                Statement::If { then, otherwise, .. } => {
                    self.block(&format!("{path}.then"), then, depth + 1)?;
                    self.block(&format!("{path}.otherwise"), otherwise, depth + 1)?;
                }
                Statement::For { body, .. } => {
                    self.block(&format!("{path}.body"), body, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks a statement without the blocks in it.
    fn statement(&self, statement: &Statement) -> Result<(), Fault> {
        match statement {
            Statement::Assign(variable, value) => {
                self.typed("an assignment", self.variable(*variable)?, value)
            }
            Statement::Store { buffer, index, value } => {
                let buffer = self.buffer(*buffer)?;
                let writable = buffer.access != Access::Read;
                require(writable, "a store to a read-only buffer; declare it read-write")?;
                self.typed("the index of a store", Type::U32, index)?;
                self.typed("a stored value", buffer.element.loaded(), value)
            }
            Statement::AtomicAdd { buffer, index, value } => {
                let buffer = self.buffer(*buffer)?;
                let writable = buffer.access != Access::Read;
                require(
                    writable,
                    "an atomic addition to a read-only buffer; declare it read-write",
                )?;
                let halves = matches!(buffer.element, Element::F16 | Element::Bf16);
                require(!halves, "an atomic addition to halves; use f32")?;
                self.typed("the index of an atomic addition", Type::U32, index)?;
                self.typed("the value of an atomic addition", buffer.element.loaded(), value)
            }
            Statement::If { condition, .. } => self.typed("a condition", Type::Bool, condition),
            Statement::For { variable, from, to, step, .. } => {
                one_of("the variable of a loop", &[Type::U32], self.variable(*variable)?)?;
                self.typed("the first value of a loop", Type::U32, from)?;
                self.typed("the bound of a loop", Type::U32, to)?;
                require(*step > 0, "a loop with a step of zero never ends; step by 1 or more")
            }
            Statement::Reduce { variable, value, .. } => {
                one_of("the variable of a reduction", &[Type::F32], self.variable(*variable)?)?;
                self.typed("a reduced value", Type::F32, value)
            }
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                let (to, from) = (self.buffer(*destination)?, self.buffer(*source)?);
                require(
                    to.access == Access::Workgroup && from.access != Access::Workgroup,
                    "an asynchronous copy goes from storage to workgroup memory",
                )?;
                require(
                    to.element == from.element && to.element.bytes() == 4,
                    "an asynchronous copy needs buffers of the same elements, of four bytes each",
                )?;
                self.typed("the destination index of a copy", Type::U32, destination_index)?;
                self.typed("the source index of a copy", Type::U32, source_index)
            }
            Statement::Barrier | Statement::AsyncCommit | Statement::AsyncWait(_) => Ok(()),
        }
    }

    fn type_of(&self, expression: &Expression, depth: usize) -> Result<Type, Fault> {
        check_depth(depth)?;
        let inner = |operand: &Expression| self.type_of(operand, depth + 1);
        match expression {
            Expression::F32(_) => Ok(Type::F32),
            Expression::I32(_) => Ok(Type::I32),
            Expression::U32(_) | Expression::Position(..) | Expression::WorkgroupSize(_) => {
                Ok(Type::U32)
            }
            Expression::Variable(variable) => self.variable(*variable),
            Expression::Length(buffer) => {
                let storage = self.buffer(*buffer)?.access != Access::Workgroup;
                require(storage, "a length of workgroup memory; write its count")?;
                Ok(Type::U32)
            }
            Expression::Load(buffer, index) => {
                let buffer = self.buffer(*buffer)?;
                one_of("the index of a load", &[Type::U32], inner(index)?)?;
                Ok(buffer.element.loaded())
            }
            Expression::Unary(operation, operand) => unary(*operation, inner(operand)?),
            Expression::Binary(operation, left, right) => {
                let (left, right) = (inner(left)?, inner(right)?);
                one_of("the second operand", &[left], right)?;
                binary(*operation, left)
            }
            Expression::Compare(_, left, right) => {
                let (left, right) = (inner(left)?, inner(right)?);
                one_of("the second operand of a comparison", &[left], right)?;
                one_of("a comparison", &NUMBERS, left)?;
                Ok(Type::Bool)
            }
            Expression::Select(condition, yes, no) => {
                one_of("the condition of a selection", &[Type::Bool], inner(condition)?)?;
                let (yes, no) = (inner(yes)?, inner(no)?);
                one_of("the second choice", &[yes], no)?;
                one_of("a selection", &NUMBERS, yes)?;
                Ok(yes)
            }
            Expression::FusedMultiplyAdd(a, b, c) => {
                for factor in [a, b, c] {
                    one_of("an operand of a fused multiply-add", &[Type::F32], inner(factor)?)?;
                }
                Ok(Type::F32)
            }
            Expression::Cast(to, from) => {
                let from = inner(from)?;
                one_of("a cast", &NUMBERS, from)?;
                one_of("the result of a cast", &NUMBERS, *to)?;
                Ok(*to)
            }
        }
    }
}

fn unary(operation: Unary, found: Type) -> Result<Type, Fault> {
    let wanted: &[Type] = match operation {
        Unary::Negate => &[Type::F32, Type::I32],
        Unary::Not => &[Type::Bool],
        Unary::Exponential => &[Type::F32],
    };
    one_of("an operand", wanted, found)?;
    Ok(found)
}

fn binary(operation: Binary, found: Type) -> Result<Type, Fault> {
    let wanted: &[Type] = match operation {
        Binary::Add
        | Binary::Subtract
        | Binary::Multiply
        | Binary::Divide
        | Binary::Minimum
        | Binary::Maximum => &NUMBERS,
        Binary::Remainder | Binary::ExclusiveOr | Binary::ShiftLeft | Binary::ShiftRight => {
            &INTEGERS
        }
        Binary::And | Binary::Or => &[Type::U32, Type::I32, Type::Bool],
    };
    one_of("an operand", wanted, found)?;
    Ok(found)
}
