//! What does each PTX instruction do? The source is NVIDIA's *PTX ISA* manual.
//!
//! An approximate instruction is off by as much as the manual allows, sometimes up and sometimes
//! down, so that code which needs a smaller error fails here.

use half::{bf16, f16};

/// Registers hold 64 bits: a predicate is 0 or 1, a narrower value has zeros above.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    /// The first operand becomes a function of the others.
    One(fn(u64) -> u64),
    Two(fn(u64, u64) -> u64),
    Three(fn(u64, u64, u64) -> u64),
    LoadParameter,
    /// Moves this many bytes.
    Load(Space, usize),
    Store(Space, usize),
    /// An atomic update of four bytes.
    Update(Space, fn(u32, u32) -> u32),
    CopyAsync,
    CommitCopies,
    WaitForCopies,
    WaitForAllCopies,
    Barrier,
    /// Exchanges with the lane whose number differs in these bits.
    Shuffle,
    Branch,
    Return,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
}

use Operation::{Barrier, Branch, Load, One, Return, Shuffle, Store, Three, Two, Update};
use Space::{Global, Shared};

impl Operation {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "mov.f32" | "mov.b32" | "mov.u32" | "mov.s32" | "mov.b16" | "mov.pred"
            | "cvta.to.global.u64" => One(|a| a),
            "ld.param.u32" | "ld.param.u64" => Self::LoadParameter,
            "ld.global.f32" | "ld.global.u32" | "ld.global.s32" | "ld.global.nc.f32"
            | "ld.global.nc.u32" | "ld.global.nc.s32" => Load(Global, 4),
            "ld.global.b16" | "ld.global.nc.b16" => Load(Global, 2),
            "ld.shared.f32" | "ld.shared.u32" | "ld.shared.s32" => Load(Shared, 4),
            "ld.shared.b16" => Load(Shared, 2),
            "st.global.f32" | "st.global.u32" | "st.global.s32" => Store(Global, 4),
            "st.global.b16" => Store(Global, 2),
            "st.shared.f32" | "st.shared.u32" | "st.shared.s32" => Store(Shared, 4),
            "st.shared.b16" => Store(Shared, 2),
            "red.global.add.f32" => Update(Global, add_f32),
            "red.shared.add.f32" => Update(Shared, add_f32),
            "red.global.add.u32" | "red.global.add.s32" => Update(Global, u32::wrapping_add),
            "red.shared.add.u32" | "red.shared.add.s32" => Update(Shared, u32::wrapping_add),
            "cp.async.ca.shared.global" => Self::CopyAsync,
            "cp.async.commit_group" => Self::CommitCopies,
            "cp.async.wait_group" => Self::WaitForCopies,
            "cp.async.wait_all" => Self::WaitForAllCopies,
            "bar.sync" => Barrier,
            "shfl.sync.bfly.b32" => Shuffle,
            "bra" => Branch,
            "ret" => Return,
            "selp.f32" | "selp.b32" | "selp.u32" => Three(|a, b, p| if p == 1 { a } else { b }),
            "and.b32" | "and.pred" => Two(|a, b| a & b),
            "or.b32" | "or.pred" => Two(|a, b| a | b),
            "xor.b32" => Two(|a, b| a ^ b),
            "not.pred" => One(|a| a ^ 1),
            _ => float(name)
                .or_else(|| integer(name))
                .or_else(|| converted(name))
                .or_else(|| compared(name))
                .unwrap_or_else(|| panic!("no instruction: {name}")),
        }
    }
}

fn float(name: &str) -> Option<Operation> {
    Some(match name {
        "add.rn.f32" => Two(|a, b| from(f(a) + f(b))),
        "sub.rn.f32" => Two(|a, b| from(f(a) - f(b))),
        "mul.rn.f32" => Two(|a, b| from(f(a) * f(b))),
        "fma.rn.f32" => Three(|a, b, c| from(f(a).mul_add(f(b), f(c)))),
        "neg.f32" => One(|a| from(-f(a))),
        "min.f32" => Two(|a, b| from(lesser(f(a), f(b)))),
        "max.f32" => Two(|a, b| from(-lesser(-f(a), -f(b)))),
        "div.rn.f32" => Two(|a, b| from(f(a) / f(b))),
        // "div.full.f32 [...] the maximum ulp error is 2".
        "div.full.f32" => Two(|a, b| from(off(f(a) / f(b), 2))),
        // "The maximum ulp error is 2 ulp", and zeros give one exactly.
        "ex2.approx.f32" => One(|a| {
            let exact = nearest(f64::from(f(a)).exp2());
            from(if f(a) == 0.0 { exact } else { off(exact, 2) })
        }),
        _ => return None,
    })
}

fn integer(name: &str) -> Option<Operation> {
    Some(match name {
        "add.u32" | "add.s32" => Two(|a, b| u32::wrapping_add(u(a), u(b)).into()),
        "sub.u32" | "sub.s32" => Two(|a, b| u32::wrapping_sub(u(a), u(b)).into()),
        "mul.lo.u32" | "mul.lo.s32" => Two(|a, b| u32::wrapping_mul(u(a), u(b)).into()),
        "mad.lo.u32" => Three(|a, b, c| u(a).wrapping_mul(u(b)).wrapping_add(u(c)).into()),
        "mad.wide.u32" => Three(|a, b, c| u64::from(u(a)) * u64::from(u(b)) + c),
        // Division by zero is unspecified.
        "div.u32" => Two(|a, b| u(a).checked_div(u(b)).unwrap_or(u32::MAX).into()),
        "rem.u32" => Two(|a, b| u(a).checked_rem(u(b)).unwrap_or(u(a)).into()),
        "div.s32" => Two(|a, b| from_i(if b == 0 { -1 } else { i(a).wrapping_div(i(b)) })),
        "rem.s32" => Two(|a, b| from_i(if b == 0 { i(a) } else { i(a).wrapping_rem(i(b)) })),
        "min.u32" => Two(u64::min),
        "max.u32" => Two(u64::max),
        "min.s32" => Two(|a, b| from_i(i(a).min(i(b)))),
        "max.s32" => Two(|a, b| from_i(i(a).max(i(b)))),
        "neg.s32" => One(|a| from_i(i(a).wrapping_neg())),
        // "Shift amounts greater than the register width are clamped to it."
        "shl.b32" => Two(|a, b| u(a).checked_shl(u(b)).unwrap_or(0).into()),
        "shr.u32" => Two(|a, b| u(a).checked_shr(u(b)).unwrap_or(0).into()),
        "shr.s32" => Two(|a, b| from_i(i(a) >> u(b).min(31))),
        _ => return None,
    })
}

fn converted(name: &str) -> Option<Operation> {
    Some(match name {
        // Rust's casts saturate and turn NaN into zero, as these do.
        "cvt.rzi.s32.f32" => One(|a| from_i(f(a) as i32)),
        "cvt.rzi.u32.f32" => One(|a| (f(a) as u32).into()),
        "cvt.rn.f32.s32" => One(|a| from(i(a) as f32)),
        "cvt.rn.f32.u32" => One(|a| from(u(a) as f32)),
        "cvt.f32.f16" => One(|a| from(f16::from_bits(a as u16).to_f32())),
        "cvt.rn.f16.f32" => One(|a| f16::from_f32(f(a)).to_bits().into()),
        "cvt.rn.bf16.f32" => One(|a| bf16::from_f32(f(a)).to_bits().into()),
        _ => return None,
    })
}

fn compared(name: &str) -> Option<Operation> {
    Some(match name {
        "setp.eq.f32" => Two(|a, b| (f(a) == f(b)).into()),
        "setp.neu.f32" => Two(|a, b| (f(a) != f(b)).into()),
        "setp.lt.f32" => Two(|a, b| (f(a) < f(b)).into()),
        "setp.le.f32" => Two(|a, b| (f(a) <= f(b)).into()),
        "setp.eq.u32" | "setp.eq.s32" => Two(|a, b| (a == b).into()),
        "setp.ne.u32" | "setp.ne.s32" => Two(|a, b| (a != b).into()),
        "setp.lt.u32" => Two(|a, b| (a < b).into()),
        "setp.le.u32" => Two(|a, b| (a <= b).into()),
        "setp.ge.u32" => Two(|a, b| (a >= b).into()),
        "setp.lt.s32" => Two(|a, b| (i(a) < i(b)).into()),
        "setp.le.s32" => Two(|a, b| (i(a) <= i(b)).into()),
        _ => return None,
    })
}

fn u(bits: u64) -> u32 {
    bits as u32
}

fn i(bits: u64) -> i32 {
    u(bits).cast_signed()
}

fn from_i(value: i32) -> u64 {
    value.cast_unsigned().into()
}

fn f(bits: u64) -> f32 {
    f32::from_bits(u(bits))
}

fn from(value: f32) -> u64 {
    value.to_bits().into()
}

fn nearest(value: f64) -> f32 {
    value as f32
}

fn add_f32(a: u32, b: u32) -> u32 {
    (f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// The smaller number. NaN is larger than any, and -0 is smaller than 0.
pub(crate) fn lesser(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a.total_cmp(&b).is_le() => a,
        _ => b,
    }
}

/// Moves a finite number by this many units in the last place, up or down.
fn off(value: f32, units: u32) -> f32 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let bits = value.to_bits();
    f32::from_bits(if bits & 4 == 0 { bits + units } else { bits.saturating_sub(units) })
}
