//! The emitter: a kernel and a configuration in, PTX text out. Nothing else reaches the text.

mod arithmetic;
mod expression;
mod reduce;
mod statement;

use std::fmt::Write as _;

use ptx_key::{Configuration, Feature, NamedValue};

use crate::check::MOST_SHARED;
use crate::interface::Parameter;
use crate::targets::oldest_isa;
use crate::{Access, Buffer, BufferId, Element, Interface, Kernel, LowerError, Type, VariableId};

/// Lowers `kernel` to PTX as `configuration` asks. The same kernel and configuration give the same
/// text, byte for byte.
///
/// Of the configuration the emitter uses the contract (in a comment), target, ISA version,
/// subgroup size, ULP budget, workgroup override, the named policy `unroll` (a truth value;
/// `false` keeps loops rolled), and the features subgroup operations, f16, bf16, asynchronous
/// compute and persistent threads. Tensor cores, a back end's own features, other named policies
/// and the toolchain change no text of this emitter.
///
/// An override of the workgroup leaves an extent of 1 as it is: along an axis that the kernel does
/// not use, more threads would do the same work again.
///
/// # Errors
///
/// [`LowerError`] for a target that is not known, an ISA version that is too old, a feature that
/// the kernel needs and the configuration or the target lacks, and a policy that cannot be met.
pub fn lower(kernel: &Kernel, configuration: &Configuration) -> Result<String, LowerError> {
    let interface = Interface::of(kernel, configuration)?;
    let emitter = Emitter::new(kernel, configuration, &interface)?;
    emitter.module()
}

/// A virtual register, as it is written.
#[derive(Clone, Debug)]
struct Register(String);

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Kinds of virtual registers: prefix and PTX type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Predicate,
    Half,
    Word,
    Float,
    Address,
}

const KINDS: [(Kind, &str, &str); 5] = [
    (Kind::Predicate, "%p", "pred"),
    (Kind::Half, "%h", "b16"),
    (Kind::Word, "%r", "b32"),
    (Kind::Float, "%f", "f32"),
    (Kind::Address, "%rd", "b64"),
];

struct Emitter<'k> {
    kernel: &'k Kernel,
    configuration: &'k Configuration,
    interface: &'k Interface,
    code: String,
    registers: [u32; KINDS.len()],
    labels: u32,
    variables: Vec<Register>,
    /// Where the workgroup is, in x, y and z.
    workgroup: Vec<Register>,
    /// Bytes of workgroup memory that reductions need.
    reduction_bytes: u32,
    /// Whether any copy is asynchronous.
    copies: bool,
    keep_rolled: bool,
}

impl<'k> Emitter<'k> {
    fn new(
        kernel: &'k Kernel,
        configuration: &'k Configuration,
        interface: &'k Interface,
    ) -> Result<Self, LowerError> {
        let mut emitter = Self {
            kernel,
            configuration,
            interface,
            code: String::new(),
            registers: [0; KINDS.len()],
            labels: 0,
            variables: Vec::new(),
            workgroup: Vec::new(),
            reduction_bytes: 0,
            copies: false,
            keep_rolled: false,
        };
        emitter.check_configuration()?;
        Ok(emitter)
    }

    fn check_configuration(&mut self) -> Result<(), LowerError> {
        let Configuration { target, isa, subgroup_size, policy, features, .. } = self.configuration;
        let needed = oldest_isa(*target)?;
        if *isa < needed {
            let what = format!("target {target}");
            return Err(LowerError::Isa { what, needed, asked: *isa });
        }
        if !subgroup_size.is_power_of_two() || *subgroup_size > 32 {
            return self.refuse(format!(
                "no device has subgroups of {subgroup_size} threads; ask for 32, or a smaller \
                 power of two to split it"
            ));
        }
        self.keep_rolled = match policy.named.get("unroll") {
            None | Some(NamedValue::Bool(true)) => false,
            Some(NamedValue::Bool(false)) => true,
            Some(other) => {
                return self.refuse(format!("the policy `unroll` is true or false, not {other:?}"));
            }
        };
        for buffer in &self.kernel.parts().buffers {
            let (feature, oldest_target) = match buffer.element {
                Element::F16 => (Feature::F16, 70),
                Element::Bf16 => (Feature::Bf16, 80),
                Element::F32 | Element::U32 | Element::I32 => continue,
            };
            if !features.contains(feature) {
                return self.refuse(format!(
                    "the buffer at slot {} needs the feature {}; add it",
                    buffer.slot,
                    feature.name()
                ));
            }
            if target.number() < oldest_target {
                return self.refuse(format!(
                    "the feature {} needs target sm_{oldest_target} or newer, not {target}",
                    feature.name()
                ));
            }
        }
        Ok(())
    }

    fn refuse<T>(&self, what: String) -> Result<T, LowerError> {
        Err(LowerError::Configuration { kernel: self.kernel.name().to_owned(), what })
    }

    fn module(mut self) -> Result<String, LowerError> {
        self.find_workgroup();
        let end = self.label();
        let turn = self.persistent_begin(&end);
        self.clear_variables();
        self.statements(&self.kernel.parts().body)?;
        self.check_shared()?;
        if self.copies {
            // One that nobody waited for would arrive in the memory of the next workgroup.
            self.line("cp.async.wait_all;");
        }
        if let Some((next, stride, turn)) = turn {
            // The next workgroup's work begins when all threads have done with this one's memory.
            self.line("bar.sync 0;");
            self.line(&format!("add.u32 {next}, {next}, {stride};"));
            self.line(&format!("bra {turn};"));
        }
        self.place(&end);
        self.line("ret;");
        Ok(self.text())
    }

    /// The whole module around the code.
    fn text(self) -> String {
        let Configuration { contract, target, isa, .. } = self.configuration;
        let mut text = String::with_capacity(self.code.len() + 1024);
        // A name with a line break in it must not end the comment.
        let name = contract.name.escape_default();
        let _ = writeln!(text, "// Lowered by {name}, contract version {}.", contract.version);
        let _ = writeln!(text, ".version {isa}\n.target {target}\n.address_size 64\n");
        let _ = writeln!(text, ".visible .entry {}(", self.interface.entry);
        let parameters = self.interface.parameters.iter().map(|parameter| match parameter {
            Parameter::Address(slot) => format!("    .param .u64 address_{slot}"),
            Parameter::Length(slot) => format!("    .param .u32 length_{slot}"),
            Parameter::WorkgroupsX => "    .param .u32 workgroups_x".to_owned(),
            Parameter::WorkgroupsY => "    .param .u32 workgroups_y".to_owned(),
        });
        let _ = writeln!(text, "{}", parameters.collect::<Vec<_>>().join(",\n"));
        let [x, y, z] = self.interface.workgroup;
        let _ = writeln!(text, ")\n.reqntid {x}, {y}, {z}\n{{");
        for ((_, prefix, kind), count) in KINDS.iter().zip(self.registers) {
            if count > 0 {
                let _ = writeln!(text, "    .reg .{kind} {prefix}<{count}>;");
            }
        }
        for buffer in &self.kernel.parts().buffers {
            if buffer.access == Access::Workgroup {
                let bytes = buffer.count.unwrap_or(0).saturating_mul(buffer.element.bytes());
                let _ =
                    writeln!(text, "    .shared .align 16 .b8 shared_{}[{bytes}];", buffer.slot);
            }
        }
        if self.reduction_bytes > 0 {
            let _ = writeln!(text, "    .shared .align 16 .b8 partials[{}];", self.reduction_bytes);
        }
        text.push('\n');
        text.push_str(&self.code);
        text.push_str("}\n");
        text
    }

    fn find_workgroup(&mut self) {
        for axis in ["x", "y", "z"] {
            let register = self.register(Kind::Word);
            self.line(&format!("mov.u32 {register}, %ctaid.{axis};"));
            self.workgroup.push(register);
        }
    }

    /// Gives every variable its register, and makes it zero for each workgroup.
    fn clear_variables(&mut self) {
        for kind in &self.kernel.parts().variables {
            let variable = self.register(kind_of(*kind));
            self.line(&match kind {
                Type::F32 => format!("mov.f32 {variable}, 0f00000000;"),
                Type::U32 | Type::I32 => format!("mov.b32 {variable}, 0;"),
                Type::Bool => format!("setp.ne.u32 {variable}, 0, 0;"),
            });
            self.variables.push(variable);
        }
    }

    /// The kernel's own memory was checked; reductions need theirs beside it.
    fn check_shared(&self) -> Result<(), LowerError> {
        let own = self.kernel.parts().shared_bytes();
        if own + u64::from(self.reduction_bytes) > MOST_SHARED {
            return self.refuse(format!(
                "its reductions need {} bytes of workgroup memory beside its own {own}, more than \
                 {MOST_SHARED} together; make its buffers smaller",
                self.reduction_bytes
            ));
        }
        Ok(())
    }

    /// Begins the loop over workgroups, where they are persistent: the register that counts, what
    /// it grows by, and the label of a turn.
    fn persistent_begin(&mut self, end: &str) -> Option<(Register, Register, String)> {
        if !self.interface.persistent {
            return None;
        }
        let [width, height, total, next, stride] = [(); 5].map(|()| self.register(Kind::Word));
        self.line(&format!("ld.param.u32 {width}, [workgroups_x];"));
        self.line(&format!("ld.param.u32 {height}, [workgroups_y];"));
        self.line(&format!("mul.lo.u32 {total}, {width}, {height};"));
        self.line(&format!("mov.u32 {next}, %ctaid.x;"));
        self.line(&format!("mov.u32 {stride}, %nctaid.x;"));
        let turn = self.label();
        self.place(&turn);
        let done = self.register(Kind::Predicate);
        self.line(&format!("setp.ge.u32 {done}, {next}, {total};"));
        self.line(&format!("@{done} bra {end};"));
        if let [x, y, ..] = self.workgroup.clone().as_slice() {
            self.line(&format!("rem.u32 {x}, {next}, {width};"));
            self.line(&format!("div.u32 {y}, {next}, {width};"));
        }
        Some((next, stride, turn))
    }

    fn line(&mut self, instruction: &str) {
        self.code.push_str("    ");
        self.code.push_str(instruction);
        self.code.push('\n');
    }

    fn register(&mut self, kind: Kind) -> Register {
        let mut kinds = KINDS.iter().zip(&mut self.registers);
        match kinds.find(|((known, ..), _)| *known == kind) {
            Some(((_, prefix, _), count)) => {
                *count += 1;
                Register(format!("{prefix}{}", *count - 1))
            }
            None => Register(String::new()),
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn place(&mut self, label: &str) {
        self.code.push_str(label);
        self.code.push_str(":\n");
    }

    /// Ids come from a checked kernel, so there always is such a buffer.
    fn buffer(&self, id: BufferId) -> Result<Buffer, LowerError> {
        let buffer = self.kernel.parts().buffers.get(id.0 as usize).copied();
        buffer.ok_or_else(|| self.unknown("buffer"))
    }

    fn variable(&self, id: VariableId) -> Result<Register, LowerError> {
        let variable = self.variables.get(id.0 as usize).cloned();
        variable.ok_or_else(|| self.unknown("variable"))
    }

    fn unknown(&self, what: &str) -> LowerError {
        let kernel = self.kernel.name().to_owned();
        LowerError::Configuration { kernel, what: format!("it has no such {what}") }
    }

    fn threads(&self) -> u32 {
        self.interface.workgroup.iter().product()
    }
}

const fn kind_of(kind: Type) -> Kind {
    match kind {
        Type::F32 => Kind::Float,
        Type::U32 | Type::I32 => Kind::Word,
        Type::Bool => Kind::Predicate,
    }
}
