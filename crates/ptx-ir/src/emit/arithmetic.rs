//! Arithmetic, and how exact it is: the ULP budget chooses between instructions.
//!
//! Errors of instructions are those that NVIDIA's *PTX ISA* manual states: `div.full.f32` and
//! `ex2.approx.f32` at most 2 units in the last place, `sqrt.approx.f32` a relative error of at most
//! 2^-23. `tests/values` measures what is made of them at these limits.

use super::Emitter;
use super::expression::{Value, suffix};
use crate::{Binary, LowerError, Type, Unary};

/// Largest error of `div.full.f32`, in units in the last place.
const FULL_DIVISION_ULP: u32 = 2;
/// Largest error of `sqrt.approx.f32`: a relative 2^-23 is up to two units, just below a power of two.
const APPROXIMATE_ROOT_ULP: u32 = 2;
/// Largest error of the exponential whose argument is reduced first: two units of `ex2.approx.f32`,
/// and one each for the rounded fraction and a result that is rounded to a subnormal number.
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
        let log2_e = format!("0f{:08X}", std::f32::consts::LOG2_E.to_bits());
        let scaled = self.float("mul.rn", &[&operand, &log2_e]);
        if self.allows(PLAIN_EXPONENTIAL_ULP) {
            return Ok(self.float("ex2.approx", &[&scaled]));
        }
        // e^x = 2^n · 2^f with n the integer next to x · log2 e, and f what is left, from log2 e in
        // two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 6).
        #[expect(clippy::cast_possible_truncation, reason = "the part of log2 e below f32")]
        let low = (std::f64::consts::LOG2_E - f64::from(std::f32::consts::LOG2_E)) as f32;
        let low = format!("0f{:08X}", low.to_bits());
        // Beyond 130 and -152 the result is infinite or zero.
        let below = self.float("min", &[&scaled, &"0f43020000"]);
        let within = self.float("max", &[&below, &"0fC3180000"]);
        let whole = self.float("cvt.rni.f32", &[&within]);
        let minus = self.float("neg", &[&whole]);
        let high = self.float("fma.rn", &[&operand, &log2_e, &minus]);
        let rest = self.float("fma.rn", &[&operand, &low, &high]);
        // Where the argument was cut off, what is left is not a fraction.
        let capped = self.float("min", &[&rest, &"0f3F800000"]);
        let fraction = self.float("max", &[&capped, &"0fBF800000"]);
        let mantissa = self.float("ex2.approx", &[&fraction]);
        // 2^n may be out of range where the product is not: it is multiplied in by halves.
        let n = self.set(Type::I32, |to| format!("cvt.rzi.s32.f32 {to}, {whole};"));
        let lower = self.set(Type::I32, |to| format!("shr.s32 {to}, {n}, 1;"));
        let upper = self.set(Type::I32, |to| format!("sub.s32 {to}, {n}, {lower};"));
        let (first, second) = (self.power_of_two(&lower), self.power_of_two(&upper));
        let partly = self.float("mul.rn", &[&mantissa, &first]);
        let result = self.float("mul.rn", &[&partly, &second]);
        // Cutting off made a number of what is none.
        let none = self.set(Type::Bool, |to| format!("setp.nan.f32 {to}, {operand}, {operand};"));
        Ok(self.float("selp", &[&operand, &result, &none]))
    }

    /// 2 to the power of an integer from -126 to 127, exactly: `ex2.approx` may be off even there.
    fn power_of_two(&mut self, exponent: &Value) -> Value {
        let biased = self.set(Type::I32, |to| format!("add.s32 {to}, {exponent}, 127;"));
        let bits = self.set(Type::I32, |to| format!("shl.b32 {to}, {biased}, 23;"));
        self.set(Type::F32, |to| format!("mov.b32 {to}, {bits};"))
    }

    /// What `instruction` of f32 makes of the operands.
    fn float(&mut self, instruction: &str, operands: &[&dyn std::fmt::Display]) -> Value {
        let operands: Vec<_> = operands.iter().map(ToString::to_string).collect();
        self.set(Type::F32, |to| format!("{instruction}.f32 {to}, {};", operands.join(", ")))
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
