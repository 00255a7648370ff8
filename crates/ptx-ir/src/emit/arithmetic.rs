//! Arithmetic, and how exact it is: the ULP budget chooses between instructions.
//!
//! Errors of instructions are those that NVIDIA's *PTX ISA* manual states: `div.full.f32` at most
//! 2 units in the last place, `sqrt.approx.f32` a relative error of at most 2^-23, `ex2.approx.f32`
//! a relative error of about 2^-22.

use super::Emitter;
use super::expression::{Value, suffix};
use crate::{Binary, LowerError, Type, Unary};

/// Largest error of `div.full.f32`, in units in the last place.
const FULL_DIVISION_ULP: u32 = 2;
/// Largest error of `sqrt.approx.f32`: a relative 2^-23 is up to one unit, doubled for safety.
const APPROXIMATE_ROOT_ULP: u32 = 2;
/// Largest error of the exponential whose argument is reduced first: that of `ex2.approx.f32`,
/// two units, and one more for the rounded fraction.
const REDUCED_EXPONENTIAL_ULP: u32 = 4;
/// From this budget on, and where none is given, the argument is not reduced first: the error
/// grows with the argument's magnitude, up to about this for results that are not zero or infinite.
const PLAIN_EXPONENTIAL_ULP: u32 = 128;

impl Emitter<'_> {
    /// Whether an operation of this error may be used.
    fn allows(&self, ulp: u32) -> bool {
        self.configuration.policy.ulp_budget.is_none_or(|budget| budget >= ulp)
    }

    pub(super) fn unary(&mut self, operation: Unary, operand: &Value) -> Result<Value, LowerError> {
        let kind = operand.kind;
        match operation {
            Unary::Negate => {
                let suffix = suffix(kind);
                Ok(self.set(kind, |to| format!("neg.{suffix} {to}, {operand};")))
            }
            Unary::Not => Ok(self.set(kind, |to| format!("not.pred {to}, {operand};"))),
            Unary::SquareRoot => {
                let how = if self.allows(APPROXIMATE_ROOT_ULP) { "approx" } else { "rn" };
                Ok(self.set(Type::F32, |to| format!("sqrt.{how}.f32 {to}, {operand};")))
            }
            Unary::Exponential => self.exponential(operand),
        }
    }

    fn exponential(&mut self, operand: &Value) -> Result<Value, LowerError> {
        if !self.allows(REDUCED_EXPONENTIAL_ULP) {
            return self.refuse(format!(
                "no exponential here is within the ULP budget of {}; allow at least \
                 {REDUCED_EXPONENTIAL_ULP}",
                self.configuration.policy.ulp_budget.unwrap_or(0)
            ));
        }
        let log2_e = std::f32::consts::LOG2_E.to_bits();
        if self.allows(PLAIN_EXPONENTIAL_ULP) {
            let scaled =
                self.set(Type::F32, |to| format!("mul.f32 {to}, {operand}, 0f{log2_e:08X};"));
            return Ok(self.set(Type::F32, |to| format!("ex2.approx.f32 {to}, {scaled};")));
        }
        // e^x = 2^n · 2^f with n the integer next to x · log2 e, and f what is left, from log2 e in
        // two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 6).
        #[expect(clippy::cast_possible_truncation, reason = "the part of log2 e below f32")]
        let low = (std::f64::consts::LOG2_E - f64::from(std::f32::consts::LOG2_E)) as f32;
        let low = low.to_bits();
        let scaled = self.set(Type::F32, |to| format!("mul.f32 {to}, {operand}, 0f{log2_e:08X};"));
        // Beyond these the result is infinite or zero, and the halves below stay in range.
        let below = self.set(Type::F32, |to| format!("min.f32 {to}, {scaled}, 0f43020000;"));
        let within = self.set(Type::F32, |to| format!("max.f32 {to}, {below}, 0fC3180000;"));
        let whole = self.set(Type::F32, |to| format!("cvt.rni.f32.f32 {to}, {within};"));
        let minus = self.set(Type::F32, |to| format!("neg.f32 {to}, {whole};"));
        let high = self
            .set(Type::F32, |to| format!("fma.rn.f32 {to}, {operand}, 0f{log2_e:08X}, {minus};"));
        let rest =
            self.set(Type::F32, |to| format!("fma.rn.f32 {to}, {operand}, 0f{low:08X}, {high};"));
        // Where the argument was cut off, what is left is not a fraction.
        let capped = self.set(Type::F32, |to| format!("min.f32 {to}, {rest}, 0f3F800000;"));
        let fraction = self.set(Type::F32, |to| format!("max.f32 {to}, {capped}, 0fBF800000;"));
        let mantissa = self.set(Type::F32, |to| format!("ex2.approx.f32 {to}, {fraction};"));
        // 2^n may be out of range where the product is not: it is multiplied in by halves.
        let half = self.set(Type::F32, |to| format!("mul.f32 {to}, {whole}, 0f3F000000;"));
        let lower = self.set(Type::F32, |to| format!("cvt.rmi.f32.f32 {to}, {half};"));
        let upper = self.set(Type::F32, |to| format!("sub.f32 {to}, {whole}, {lower};"));
        let first = self.set(Type::F32, |to| format!("ex2.approx.f32 {to}, {lower};"));
        let second = self.set(Type::F32, |to| format!("ex2.approx.f32 {to}, {upper};"));
        let scaled = self.set(Type::F32, |to| format!("mul.f32 {to}, {mantissa}, {first};"));
        let result = self.set(Type::F32, |to| format!("mul.f32 {to}, {scaled}, {second};"));
        // Cutting off made a number of what is none.
        let none = self.set(Type::Bool, |to| format!("setp.nan.f32 {to}, {operand}, {operand};"));
        Ok(self.set(Type::F32, |to| format!("selp.f32 {to}, {operand}, {result}, {none};")))
    }

    pub(super) fn binary(&mut self, operation: Binary, left: &Value, right: &Value) -> Value {
        let kind = left.kind;
        let typed = suffix(kind);
        // Contraction of a product and a sum would change the rounding that the kernel asks for.
        let rounding = if kind == Type::F32 { ".rn" } else { "" };
        let bits = if kind == Type::Bool { "pred" } else { "b32" };
        let instruction = match operation {
            Binary::Add => format!("add{rounding}.{typed}"),
            Binary::Subtract => format!("sub{rounding}.{typed}"),
            Binary::Multiply if kind == Type::F32 => "mul.rn.f32".to_owned(),
            Binary::Multiply => format!("mul.lo.{typed}"),
            Binary::Divide if kind != Type::F32 => format!("div.{typed}"),
            Binary::Divide if self.allows(FULL_DIVISION_ULP) => "div.full.f32".to_owned(),
            Binary::Divide => "div.rn.f32".to_owned(),
            Binary::Remainder => format!("rem.{typed}"),
            Binary::Minimum => format!("min.{typed}"),
            Binary::Maximum => format!("max.{typed}"),
            Binary::And => format!("and.{bits}"),
            Binary::Or => format!("or.{bits}"),
            Binary::ExclusiveOr => format!("xor.{bits}"),
            Binary::ShiftLeft => "shl.b32".to_owned(),
            Binary::ShiftRight => format!("shr.{typed}"),
        };
        self.set(kind, |to| format!("{instruction} {to}, {left}, {right};"))
    }
}
