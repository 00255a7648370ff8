//! Which instruction computes an operation? The ULP budget decides how exact it is.
//!
//! NVIDIA's *PTX ISA* manual states the errors: `div.full.f32` and `ex2.approx.f32` are off by at
//! most 2 units in the last place. `tests/values` measures the results when they are that far off.

use super::emitter::{Emitter, Value, suffix};
use crate::{Binary, Comparison, Type, Unary};

/// The largest error of `div.full.f32`, in units in the last place.
const FULL_DIVISION_ULP: u32 = 2;
/// The largest error of the exponential. It grows with the argument, up to about this before the
/// result is zero or infinite.
const EXPONENTIAL_ULP: u32 = 128;

impl Emitter<'_> {
    fn allows(&self, ulp: u32) -> bool {
        self.configuration.policy.ulp_budget.is_none_or(|budget| budget >= ulp)
    }

    pub(super) fn unary(&mut self, operation: Unary, operand: &Value) -> Value {
        let kind = operand.kind;
        match operation {
            Unary::Negate => self.set(kind, |to| format!("neg.{} {to}, {operand};", suffix(kind))),
            Unary::Not => self.set(kind, |to| format!("not.pred {to}, {operand};")),
            Unary::Exponential => {
                if !self.allows(EXPONENTIAL_ULP) {
                    self.refuse(format!(
                        "no exponential is within the ULP budget of {}; allow at least \
                         {EXPONENTIAL_ULP}",
                        self.configuration.policy.ulp_budget.unwrap_or(0)
                    ));
                }
                let log2_e = std::f32::consts::LOG2_E.to_bits();
                let scaled =
                    self.set(kind, |to| format!("mul.rn.f32 {to}, {operand}, 0f{log2_e:08X};"));
                self.set(kind, |to| format!("ex2.approx.f32 {to}, {scaled};"))
            }
        }
    }

    pub(super) fn binary(&mut self, operation: Binary, left: &Value, right: &Value) -> Value {
        let kind = left.kind;
        let typed = suffix(kind);
        let bits = if kind == Type::Bool { "pred" } else { "b32" };
        let instruction = match (operation, kind) {
            // Without `.rn`, ptxas may fuse a product and a sum, which rounds once and not twice.
            (Binary::Add, Type::F32) => "add.rn.f32".to_owned(),
            (Binary::Subtract, Type::F32) => "sub.rn.f32".to_owned(),
            (Binary::Multiply, Type::F32) => "mul.rn.f32".to_owned(),
            (Binary::Divide, Type::F32) if self.allows(FULL_DIVISION_ULP) => {
                "div.full.f32".to_owned()
            }
            (Binary::Divide, Type::F32) => "div.rn.f32".to_owned(),
            (Binary::Add, _) => format!("add.{typed}"),
            (Binary::Subtract, _) => format!("sub.{typed}"),
            (Binary::Multiply, _) => format!("mul.lo.{typed}"),
            (Binary::Divide, _) => format!("div.{typed}"),
            (Binary::Remainder, _) => format!("rem.{typed}"),
            (Binary::Minimum, _) => format!("min.{typed}"),
            (Binary::Maximum, _) => format!("max.{typed}"),
            (Binary::And, _) => format!("and.{bits}"),
            (Binary::Or, _) => format!("or.{bits}"),
            (Binary::ExclusiveOr, _) => format!("xor.{bits}"),
            (Binary::ShiftLeft, _) => "shl.b32".to_owned(),
            (Binary::ShiftRight, _) => format!("shr.{typed}"),
        };
        self.set(kind, |to| format!("{instruction} {to}, {left}, {right};"))
    }

    pub(super) fn compare(&mut self, comparison: Comparison, left: &Value, right: &Value) -> Value {
        let typed = suffix(left.kind);
        let operation = match comparison {
            Comparison::Equal => "eq",
            // True if an operand is NaN, as in Rust.
            Comparison::NotEqual if left.kind == Type::F32 => "neu",
            Comparison::NotEqual => "ne",
            Comparison::Less => "lt",
            Comparison::LessOrEqual => "le",
        };
        self.set(Type::Bool, |to| format!("setp.{operation}.{typed} {to}, {left}, {right};"))
    }

    pub(super) fn cast(&mut self, to: Type, operand: Value) -> Value {
        let instruction = match (operand.kind, to) {
            (from, to) if from == to => return operand,
            (Type::F32, integer) => format!("cvt.rzi.{}.f32", suffix(integer)),
            (integer, Type::F32) => format!("cvt.rn.f32.{}", suffix(integer)),
            _ => "mov.b32".to_owned(),
        };
        self.set(to, |to| format!("{instruction} {to}, {operand};"))
    }
}
