//! What makes a kernel well-formed.

use crate::{
    Access, Binary, Buffer, BufferId, Element, Expression, KernelParts, LowerError, Statement,
    Type, Unary, VariableId,
};

/// How deep statements and expressions may nest, each counted alone.
pub const DEEPEST: usize = 64;

/// Most bytes of workgroup memory that every device gives without being asked.
pub(crate) const MOST_SHARED: u64 = 48 * 1024;

/// Most buffers: each takes up to 12 of the 4,352 bytes of parameters that every version of PTX has
/// room for.
const MOST_BUFFERS: usize = 256;

pub(crate) fn check(parts: &KernelParts) -> Result<(), LowerError> {
    let checker = Checker { parts };
    checker.name()?;
    check_workgroup(&parts.name, parts.workgroup.size)?;
    checker.buffers()?;
    checker.statements("body", &parts.body, 0)
}

/// Whether a device runs workgroups of this size.
pub(crate) fn check_workgroup(kernel: &str, size: [u32; 3]) -> Result<(), LowerError> {
    let threads = size.iter().try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    let fits = threads.is_some_and(|threads| (1..=1024).contains(&threads)) && size[2] <= 64;
    if fits { Ok(()) } else { Err(LowerError::Workgroup { kernel: kernel.to_owned(), size }) }
}

struct Checker<'k> {
    parts: &'k KernelParts,
}

impl Checker<'_> {
    fn kernel(&self) -> String {
        self.parts.name.chars().take(200).collect()
    }

    fn wrong_use<T>(&self, place: &'static str, what: &'static str) -> Result<T, LowerError> {
        Err(LowerError::Use { kernel: self.kernel(), path: String::new(), place, what })
    }

    fn too_deep<T>(&self) -> Result<T, LowerError> {
        Err(LowerError::Depth { kernel: self.kernel(), path: String::new(), limit: DEEPEST })
    }

    fn name(&self) -> Result<(), LowerError> {
        let name = &self.parts.name;
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        // The one word that PTX keeps from its users' names.
        if begins && plain && name.len() <= 200 && name != "WARP_SZ" {
            Ok(())
        } else {
            Err(LowerError::Name { name: self.kernel() })
        }
    }

    fn buffers(&self) -> Result<(), LowerError> {
        if self.parts.buffers.len() > MOST_BUFFERS {
            return Err(LowerError::Buffers { kernel: self.kernel(), limit: MOST_BUFFERS });
        }
        let mut slots = std::collections::BTreeSet::new();
        let mut shared = 0_u64;
        for buffer in &self.parts.buffers {
            if !slots.insert(buffer.slot) {
                return Err(LowerError::SlotTwice { kernel: self.kernel(), slot: buffer.slot });
            }
            if buffer.access == Access::Workgroup {
                shared += buffer.shared_bytes();
                if buffer.count.unwrap_or(0) == 0 || shared > MOST_SHARED {
                    return Err(LowerError::SharedSize {
                        kernel: self.kernel(),
                        slot: buffer.slot,
                    });
                }
            }
        }
        Ok(())
    }

    fn buffer(&self, id: BufferId, place: &'static str) -> Result<&Buffer, LowerError> {
        match usize::try_from(id.0).ok().and_then(|position| self.parts.buffers.get(position)) {
            Some(buffer) => Ok(buffer),
            None => self.wrong_use(place, "the kernel has no such buffer; declare it"),
        }
    }

    fn variable(&self, id: VariableId, place: &'static str) -> Result<Type, LowerError> {
        match usize::try_from(id.0).ok().and_then(|position| self.parts.variables.get(position)) {
            Some(kind) => Ok(*kind),
            None => self.wrong_use(place, "the kernel has no such variable; declare it"),
        }
    }

    fn expect(
        &self,
        place: &'static str,
        expected: &'static str,
        found: Type,
        fits: bool,
    ) -> Result<(), LowerError> {
        if fits {
            Ok(())
        } else {
            let path = String::new();
            Err(LowerError::Type { kernel: self.kernel(), path, place, expected, found })
        }
    }

    fn same(&self, place: &'static str, wanted: Type, found: Type) -> Result<(), LowerError> {
        let expected = match wanted {
            Type::F32 => "an f32",
            Type::U32 => "a u32",
            Type::I32 => "an i32",
            Type::Bool => "a bool",
        };
        self.expect(place, expected, found, wanted == found)
    }

    fn typed(
        &self,
        value: &Expression,
        wanted: Type,
        place: &'static str,
    ) -> Result<(), LowerError> {
        let found = self.type_of(value, 0)?;
        self.same(place, wanted, found)
    }

    fn statements(
        &self,
        block: &str,
        statements: &[Statement],
        depth: usize,
    ) -> Result<(), LowerError> {
        if depth > DEEPEST {
            return self.too_deep();
        }
        for (number, statement) in statements.iter().enumerate() {
            self.statement(statement, depth).map_err(|error| error.in_statement(block, number))?;
        }
        Ok(())
    }

    fn statement(&self, statement: &Statement, depth: usize) -> Result<(), LowerError> {
        match statement {
            Statement::Assign(variable, value) => {
                let wanted = self.variable(*variable, "an assignment")?;
                self.typed(value, wanted, "an assignment")
            }
            Statement::Store { buffer, index, value } => {
                let buffer = *self.buffer(*buffer, "a store")?;
                if matches!(buffer.access, Access::Read | Access::Uniform) {
                    return self
                        .wrong_use("a store", "the buffer is only read; declare it read-write");
                }
                self.typed(index, Type::U32, "the index of a store")?;
                self.typed(value, buffer.element.loaded(), "a stored value")
            }
            Statement::AtomicAdd { buffer, index, value } => {
                let buffer = *self.buffer(*buffer, "an atomic addition")?;
                if !matches!(buffer.access, Access::ReadWrite | Access::Workgroup) {
                    return self.wrong_use("an atomic addition", "the buffer must be read-write");
                }
                if matches!(buffer.element, Element::F16 | Element::Bf16) {
                    return self
                        .wrong_use("an atomic addition", "halves cannot be added to; use f32");
                }
                self.typed(index, Type::U32, "the index of an atomic addition")?;
                self.typed(value, buffer.element.loaded(), "the value of an atomic addition")
            }
            Statement::If { condition, then, otherwise } => {
                self.typed(condition, Type::Bool, "a condition")?;
                self.statements("then", then, depth + 1)?;
                self.statements("otherwise", otherwise, depth + 1)
            }
            Statement::For { variable, from, to, step, body } => {
                let kind = self.variable(*variable, "a loop")?;
                self.same("a loop's variable", Type::U32, kind)?;
                self.typed(from, Type::U32, "a loop's first value")?;
                self.typed(to, Type::U32, "a loop's bound")?;
                if *step == 0 {
                    return self
                        .wrong_use("a loop", "a step of zero never ends; step by 1 or more");
                }
                self.statements("body", body, depth + 1)
            }
            Statement::Reduce { variable, value, .. } => {
                let kind = self.variable(*variable, "a reduction")?;
                self.same("a reduction's variable", Type::F32, kind)?;
                self.typed(value, Type::F32, "a reduced value")
            }
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                self.async_copy(*destination, *source)?;
                self.typed(destination_index, Type::U32, "where a copy goes")?;
                self.typed(source_index, Type::U32, "where a copy is from")
            }
            Statement::Barrier | Statement::AsyncCommit | Statement::AsyncWait(_) => Ok(()),
        }
    }

    fn async_copy(&self, destination: BufferId, source: BufferId) -> Result<(), LowerError> {
        let to = *self.buffer(destination, "an asynchronous copy")?;
        let from = *self.buffer(source, "an asynchronous copy")?;
        if to.access != Access::Workgroup
            || !matches!(from.access, Access::Read | Access::ReadWrite)
        {
            let what = "it goes from storage that is read to workgroup memory";
            return self.wrong_use("an asynchronous copy", what);
        }
        if to.element != from.element || to.element.bytes() != 4 {
            let what = "both buffers must hold the same elements, of four bytes";
            return self.wrong_use("an asynchronous copy", what);
        }
        Ok(())
    }

    fn type_of(&self, expression: &Expression, depth: usize) -> Result<Type, LowerError> {
        if depth > DEEPEST {
            return self.too_deep();
        }
        let inner = |operand: &Expression| self.type_of(operand, depth + 1);
        match expression {
            Expression::F32(_) => Ok(Type::F32),
            Expression::I32(_) => Ok(Type::I32),
            Expression::U32(_) | Expression::Position(..) | Expression::WorkgroupSize(_) => {
                Ok(Type::U32)
            }
            Expression::Variable(variable) => self.variable(*variable, "an expression"),
            Expression::Length(buffer) => {
                if self.buffer(*buffer, "a length")?.access == Access::Workgroup {
                    return self
                        .wrong_use("a length", "workgroup memory has its count; write that");
                }
                Ok(Type::U32)
            }
            Expression::Load(buffer, index) => {
                let buffer = *self.buffer(*buffer, "a load")?;
                if buffer.access == Access::Write {
                    return self
                        .wrong_use("a load", "the buffer is only written; declare it read-write");
                }
                self.same("the index of a load", Type::U32, inner(index)?)?;
                Ok(buffer.element.loaded())
            }
            Expression::Unary(operation, operand) => self.unary(*operation, inner(operand)?),
            Expression::Binary(operation, left, right) => {
                let (left, right) = (inner(left)?, inner(right)?);
                self.same("the second operand", left, right)?;
                self.binary(*operation, left)
            }
            Expression::Compare(_, left, right) => {
                let (left, right) = (inner(left)?, inner(right)?);
                self.same("the second operand of a comparison", left, right)?;
                self.expect("a comparison", "numbers", left, left != Type::Bool)?;
                Ok(Type::Bool)
            }
            Expression::Select(condition, yes, no) => {
                self.same("the condition of a selection", Type::Bool, inner(condition)?)?;
                let (yes, no) = (inner(yes)?, inner(no)?);
                self.same("the second choice", yes, no)?;
                self.expect("a selection", "numbers", yes, yes != Type::Bool)?;
                Ok(yes)
            }
            Expression::FusedMultiplyAdd(a, b, c) => {
                for operand in [a, b, c] {
                    self.same("an operand of a fused multiply-add", Type::F32, inner(operand)?)?;
                }
                Ok(Type::F32)
            }
            Expression::Cast(to, operand) => {
                let from = inner(operand)?;
                self.expect("a cast", "a number", from, from != Type::Bool)?;
                self.expect("a cast", "a number to cast to", *to, *to != Type::Bool)?;
                Ok(*to)
            }
        }
    }

    fn unary(&self, operation: Unary, operand: Type) -> Result<Type, LowerError> {
        let (expected, fits) = match operation {
            Unary::Negate => ("an f32 or an i32", matches!(operand, Type::F32 | Type::I32)),
            Unary::Not => ("a bool", operand == Type::Bool),
            Unary::SquareRoot | Unary::Exponential => ("an f32", operand == Type::F32),
        };
        self.expect("an operand", expected, operand, fits)?;
        Ok(operand)
    }

    fn binary(&self, operation: Binary, operand: Type) -> Result<Type, LowerError> {
        let integer = matches!(operand, Type::U32 | Type::I32);
        let (expected, fits) = match operation {
            Binary::Add
            | Binary::Subtract
            | Binary::Multiply
            | Binary::Divide
            | Binary::Minimum
            | Binary::Maximum => ("numbers", operand != Type::Bool),
            Binary::Remainder | Binary::ExclusiveOr | Binary::ShiftLeft | Binary::ShiftRight => {
                ("integers", integer)
            }
            Binary::And | Binary::Or => ("integers or bools", operand != Type::F32),
        };
        self.expect("an operand", expected, operand, fits)?;
        Ok(operand)
    }
}
