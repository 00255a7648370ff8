//! Where does emitted code go? Into numbered registers, labels and lines.

use std::fmt::{self, Write as _};

use ptx_key::Configuration;

use crate::{Interface, Kernel, Type};

/// A typed value in a register.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) register: String,
    pub(super) kind: Type,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.register)
    }
}

/// A kind of virtual registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Predicate,
    Half,
    Word,
    Float,
    Address,
}

/// The prefix and the PTX type of each [`Kind`], in its order.
const KINDS: [(&str, &str); 5] =
    [("%p", "pred"), ("%h", "b16"), ("%r", "b32"), ("%f", "f32"), ("%rd", "b64")];

pub(super) struct Emitter<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) configuration: &'k Configuration,
    pub(super) interface: &'k Interface,
    pub(super) code: String,
    /// The registers of the variables, by position.
    pub(super) variables: Vec<Value>,
    /// The registers of the workgroup's index in x, y and z.
    pub(super) workgroup: Vec<String>,
    /// The bytes of workgroup memory that reductions need.
    pub(super) reduction_bytes: u32,
    pub(super) has_async_copies: bool,
    /// Why the configuration does not fit the kernel: the first reason found.
    pub(super) refusal: Option<String>,
    registers: [u32; KINDS.len()],
    labels: u32,
}

impl<'k> Emitter<'k> {
    pub(super) fn new(
        kernel: &'k Kernel,
        configuration: &'k Configuration,
        interface: &'k Interface,
    ) -> Self {
        Self {
            kernel,
            configuration,
            interface,
            code: String::new(),
            variables: Vec::new(),
            workgroup: Vec::new(),
            reduction_bytes: 0,
            has_async_copies: false,
            refusal: None,
            registers: [0; KINDS.len()],
            labels: 0,
        }
    }

    /// Makes lowering fail. Emission continues, and its text is dropped.
    pub(super) fn refuse(&mut self, why: String) {
        self.refusal.get_or_insert(why);
    }

    pub(super) fn line(&mut self, instruction: &str) {
        self.code.push_str("    ");
        self.code.push_str(instruction);
        self.code.push('\n');
    }

    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    pub(super) fn place(&mut self, label: &str) {
        self.code.push_str(label);
        self.code.push_str(":\n");
    }

    pub(super) fn register(&mut self, kind: Kind) -> String {
        let count = &mut self.registers[kind as usize];
        *count += 1;
        format!("{}{}", KINDS[kind as usize].0, *count - 1)
    }

    /// Emits an instruction that writes a new register.
    pub(super) fn set(&mut self, kind: Type, instruction: impl FnOnce(&str) -> String) -> Value {
        let register = self.register(match kind {
            Type::F32 => Kind::Float,
            Type::U32 | Type::I32 => Kind::Word,
            Type::Bool => Kind::Predicate,
        });
        self.line(&instruction(&register));
        Value { register, kind }
    }

    pub(super) fn declare_registers(&self, text: &mut String) {
        for ((prefix, kind), count) in KINDS.iter().zip(self.registers) {
            if count > 0 {
                let _ = writeln!(text, "    .reg .{kind} {prefix}<{count}>;");
            }
        }
    }
}

/// The suffix of instructions on this type.
pub(super) const fn suffix(kind: Type) -> &'static str {
    match kind {
        Type::F32 => "f32",
        Type::U32 => "u32",
        Type::I32 => "s32",
        Type::Bool => "pred",
    }
}

/// The instruction that copies a register of this type.
pub(super) const fn copy(kind: Type) -> &'static str {
    if matches!(kind, Type::Bool) { "mov.pred" } else { "mov.b32" }
}
