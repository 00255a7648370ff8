//! Expressions: each leaves its value in a register.

use super::{Emitter, Kind, Register, kind_of};
use crate::{Access, Axis, Buffer, Comparison, Element, Expression, Index, LowerError, Type};

/// A value in a register.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) register: Register,
    pub(super) kind: Type,
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.register.fmt(f)
    }
}

impl Emitter<'_> {
    pub(super) fn value(&mut self, expression: &Expression) -> Result<Value, LowerError> {
        match expression {
            Expression::F32(value) => {
                Ok(self.set(Type::F32, |to| format!("mov.f32 {to}, 0f{:08X};", value.to_bits())))
            }
            Expression::U32(value) => {
                Ok(self.set(Type::U32, |to| format!("mov.u32 {to}, {value};")))
            }
            Expression::I32(value) => {
                Ok(self.set(Type::I32, |to| format!("mov.s32 {to}, {value};")))
            }
            Expression::Variable(id) => {
                let register = self.variable(*id)?;
                let kind = self.kernel.parts().variables.get(id.0 as usize).copied();
                let kind = kind.ok_or_else(|| self.unknown("variable"))?;
                // A copy, since the variable may be assigned before the value is used.
                let instruction = if kind == Type::Bool { "mov.pred" } else { "mov.b32" };
                Ok(self.set(kind, |to| format!("{instruction} {to}, {register};")))
            }
            Expression::Position(index, axis) => Ok(self.position(*index, *axis)),
            Expression::WorkgroupSize(axis) => {
                let extent = self.extent(*axis);
                Ok(self.set(Type::U32, |to| format!("mov.u32 {to}, {extent};")))
            }
            Expression::Length(id) => {
                let slot = self.buffer(*id)?.slot;
                Ok(self.set(Type::U32, |to| format!("ld.param.u32 {to}, [length_{slot}];")))
            }
            Expression::Load(id, index) => {
                let buffer = self.buffer(*id)?;
                let index = self.value(index)?;
                Ok(self.load(buffer, &index))
            }
            Expression::Unary(operation, operand) => {
                let operand = self.value(operand)?;
                self.unary(*operation, &operand)
            }
            Expression::Binary(operation, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Ok(self.binary(*operation, &left, &right))
            }
            Expression::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Ok(self.compare(*comparison, &left, &right))
            }
            Expression::Select(condition, yes, no) => {
                let condition = self.value(condition)?;
                let (yes, no) = (self.value(yes)?, self.value(no)?);
                let kind = yes.kind;
                let suffix = if kind == Type::F32 { "f32" } else { "b32" };
                Ok(self.set(kind, |to| format!("selp.{suffix} {to}, {yes}, {no}, {condition};")))
            }
            Expression::FusedMultiplyAdd(a, b, c) => {
                let (a, b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
                Ok(self.set(Type::F32, |to| format!("fma.rn.f32 {to}, {a}, {b}, {c};")))
            }
            Expression::Cast(to, operand) => {
                let operand = self.value(operand)?;
                Ok(self.cast(*to, operand))
            }
        }
    }

    /// A new register with what `instruction` puts into it.
    pub(super) fn set(
        &mut self,
        kind: Type,
        instruction: impl FnOnce(&Register) -> String,
    ) -> Value {
        let register = self.register(kind_of(kind));
        self.line(&instruction(&register));
        Value { register, kind }
    }

    fn extent(&self, axis: Axis) -> u32 {
        let [x, y, z] = self.interface.workgroup;
        match axis {
            Axis::X => x,
            Axis::Y => y,
            Axis::Z => z,
        }
    }

    pub(super) fn position(&mut self, index: Index, axis: Axis) -> Value {
        let (letter, number) = match axis {
            Axis::X => ("x", 0),
            Axis::Y => ("y", 1),
            Axis::Z => ("z", 2),
        };
        let extent = self.extent(axis);
        let workgroup = self.workgroup.get(number).cloned();
        let workgroup = workgroup.unwrap_or_else(|| Register(format!("%ctaid.{letter}")));
        match index {
            Index::Workgroup => self.set(Type::U32, |to| format!("mov.u32 {to}, {workgroup};")),
            Index::Local => self.set(Type::U32, |to| format!("mov.u32 {to}, %tid.{letter};")),
            Index::Global => {
                let local = self.position(Index::Local, axis);
                self.set(Type::U32, |to| {
                    format!("mad.lo.u32 {to}, {workgroup}, {extent}, {local};")
                })
            }
        }
    }

    /// The address of an element, as it is written between brackets.
    pub(super) fn address(&mut self, buffer: Buffer, index: &Value) -> Register {
        let (slot, bytes) = (buffer.slot, buffer.element.bytes());
        if buffer.access == Access::Workgroup {
            let base = self.set(Type::U32, |to| format!("mov.u32 {to}, shared_{slot};"));
            return self
                .set(Type::U32, |to| format!("mad.lo.u32 {to}, {index}, {bytes}, {base};"))
                .register;
        }
        let [base, global, address] = [(); 3].map(|()| self.register(Kind::Address));
        self.line(&format!("ld.param.u64 {base}, [address_{slot}];"));
        self.line(&format!("cvta.to.global.u64 {global}, {base};"));
        self.line(&format!("mad.wide.u32 {address}, {index}, {bytes}, {global};"));
        address
    }

    fn load(&mut self, buffer: Buffer, index: &Value) -> Value {
        let address = self.address(buffer, index);
        let space = match buffer.access {
            Access::Workgroup => "shared",
            // Nobody writes these while the kernel runs.
            Access::Read | Access::Uniform => "global.nc",
            Access::Write | Access::ReadWrite => "global",
        };
        match buffer.element {
            Element::F32 => self.set(Type::F32, |to| format!("ld.{space}.f32 {to}, [{address}];")),
            Element::U32 => self.set(Type::U32, |to| format!("ld.{space}.u32 {to}, [{address}];")),
            Element::I32 => self.set(Type::I32, |to| format!("ld.{space}.s32 {to}, [{address}];")),
            Element::F16 => {
                let half = self.register(Kind::Half);
                self.line(&format!("ld.{space}.b16 {half}, [{address}];"));
                self.set(Type::F32, |to| format!("cvt.f32.f16 {to}, {half};"))
            }
            Element::Bf16 => {
                let [half, zero] = [(); 2].map(|()| self.register(Kind::Half));
                self.line(&format!("ld.{space}.b16 {half}, [{address}];"));
                self.line(&format!("mov.b16 {zero}, 0;"));
                // A brain float is the upper half of the f32 with the same value.
                self.set(Type::F32, |to| format!("mov.b32 {to}, {{{zero}, {half}}};"))
            }
        }
    }

    /// The register that holds `value` as the buffer's element, and the type to store it with.
    pub(super) fn stored(&mut self, element: Element, value: &Value) -> (Register, &'static str) {
        match element {
            Element::F32 => (value.register.clone(), "f32"),
            Element::U32 => (value.register.clone(), "u32"),
            Element::I32 => (value.register.clone(), "s32"),
            Element::F16 | Element::Bf16 => {
                let half = self.register(Kind::Half);
                let to = if element == Element::F16 { "f16" } else { "bf16" };
                self.line(&format!("cvt.rn.{to}.f32 {half}, {value};"));
                (half, "b16")
            }
        }
    }

    fn compare(&mut self, comparison: Comparison, left: &Value, right: &Value) -> Value {
        let suffix = suffix(left.kind);
        let operation = match comparison {
            Comparison::Equal => "eq",
            // True where an operand is not a number, as in Rust.
            Comparison::NotEqual if left.kind == Type::F32 => "neu",
            Comparison::NotEqual => "ne",
            Comparison::Less => "lt",
            Comparison::LessOrEqual => "le",
        };
        self.set(Type::Bool, |to| format!("setp.{operation}.{suffix} {to}, {left}, {right};"))
    }

    fn cast(&mut self, to: Type, operand: Value) -> Value {
        match (operand.kind, to) {
            (from, to) if from == to => operand,
            (Type::F32, integer) => {
                let suffix = suffix(integer);
                self.set(integer, |to| format!("cvt.rzi.{suffix}.f32 {to}, {operand};"))
            }
            (integer, Type::F32) => {
                let suffix = suffix(integer);
                self.set(Type::F32, |to| format!("cvt.rn.f32.{suffix} {to}, {operand};"))
            }
            (_, integer) => self.set(integer, |to| format!("mov.b32 {to}, {operand};")),
        }
    }
}

pub(super) const fn suffix(kind: Type) -> &'static str {
    match kind {
        Type::F32 => "f32",
        Type::U32 => "u32",
        Type::I32 => "s32",
        Type::Bool => "pred",
    }
}
