//! Which instructions compute an expression?

use super::emitter::{Emitter, Value, copy};
use crate::{Axis, Expression, Index, Type};

impl Emitter<'_> {
    pub(super) fn value(&mut self, expression: &Expression) -> Value {
        match expression {
            Expression::F32(value) => {
                self.set(Type::F32, |to| format!("mov.f32 {to}, 0f{:08X};", value.to_bits()))
            }
            Expression::U32(value) => self.set(Type::U32, |to| format!("mov.u32 {to}, {value};")),
            Expression::I32(value) => self.set(Type::I32, |to| format!("mov.s32 {to}, {value};")),
            Expression::Variable(id) => {
                let variable = self.variables[id.0 as usize].clone();
                // A copy: a statement may assign the variable before the value is used.
                let instruction = copy(variable.kind);
                self.set(variable.kind, |to| format!("{instruction} {to}, {variable};"))
            }
            Expression::Position(index, axis) => self.position(*index, *axis),
            Expression::WorkgroupSize(axis) => {
                let extent = self.interface.workgroup[*axis as usize];
                self.set(Type::U32, |to| format!("mov.u32 {to}, {extent};"))
            }
            Expression::Length(buffer) => self.length(self.buffer(*buffer).slot),
            Expression::Load(buffer, index) => {
                let index = self.value(index);
                self.load(self.buffer(*buffer), &index)
            }
            Expression::Unary(operation, operand) => {
                let operand = self.value(operand);
                self.unary(*operation, &operand)
            }
            Expression::Binary(operation, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                self.binary(*operation, &left, &right)
            }
            Expression::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                self.compare(*comparison, &left, &right)
            }
            Expression::Select(condition, yes, no) => {
                let [condition, yes, no] = [condition, yes, no].map(|it| self.value(it));
                let bits = if yes.kind == Type::F32 { "f32" } else { "b32" };
                self.set(yes.kind, |to| format!("selp.{bits} {to}, {yes}, {no}, {condition};"))
            }
            Expression::FusedMultiplyAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|it| self.value(it));
                self.set(Type::F32, |to| format!("fma.rn.f32 {to}, {a}, {b}, {c};"))
            }
            Expression::Cast(to, operand) => {
                let operand = self.value(operand);
                self.cast(*to, operand)
            }
        }
    }

    pub(super) fn position(&mut self, index: Index, axis: Axis) -> Value {
        let workgroup = self.workgroup[axis as usize].clone();
        match index {
            Index::Workgroup => self.set(Type::U32, |to| format!("mov.u32 {to}, {workgroup};")),
            Index::Local => {
                let letter = ["x", "y", "z"][axis as usize];
                self.set(Type::U32, |to| format!("mov.u32 {to}, %tid.{letter};"))
            }
            Index::Global => {
                let local = self.position(Index::Local, axis);
                let extent = self.interface.workgroup[axis as usize];
                self.set(Type::U32, |to| {
                    format!("mad.lo.u32 {to}, {workgroup}, {extent}, {local};")
                })
            }
        }
    }
}
