//! What surrounds the statements of a kernel? The module, its declarations, and the loop of
//! persistent workgroups.

use std::fmt::Write as _;

use ptx_key::Configuration;

use super::emitter::{Emitter, Kind};
use crate::check::MOST_SHARED;
use crate::{Access, Interface, Kernel, Parameter, Type};

/// Lowers a kernel to a module, or says why the configuration does not fit it.
pub(super) fn lower(
    kernel: &Kernel,
    configuration: &Configuration,
    interface: &Interface,
) -> Result<String, String> {
    let mut emitter = Emitter::new(kernel, configuration, interface);
    emitter.body();
    if let Some(why) = emitter.refusal {
        return Err(why);
    }
    let (own, needed) = (kernel.shared_bytes(), emitter.reduction_bytes);
    if own + u64::from(needed) > MOST_SHARED {
        return Err(format!(
            "its reductions need {needed} bytes of workgroup memory beside the {own} of its \
             buffers, more than {MOST_SHARED} together; make its buffers smaller"
        ));
    }
    Ok(module(&emitter))
}

/// A loop over workgroups that has begun.
struct PersistentLoop {
    next: String,
    stride: String,
    label: String,
}

impl Emitter<'_> {
    fn body(&mut self) {
        for axis in ["x", "y", "z"] {
            let register = self.register(Kind::Word);
            self.line(&format!("mov.u32 {register}, %ctaid.{axis};"));
            self.workgroup.push(register);
        }
        let end = self.label();
        let persistent = self.interface.persistent.then(|| self.begin_persistent(&end));
        for kind in &self.kernel.variables {
            let variable = self.set(*kind, |to| match kind {
                Type::F32 => format!("mov.f32 {to}, 0f00000000;"),
                Type::U32 | Type::I32 => format!("mov.b32 {to}, 0;"),
                Type::Bool => format!("setp.ne.u32 {to}, 0, 0;"),
            });
            self.variables.push(variable);
        }
        self.statements(&self.kernel.body);
        if self.has_async_copies {
            // An unfinished copy would write to the memory of the next workgroup.
            self.line("cp.async.wait_all;");
        }
        if let Some(PersistentLoop { next, stride, label }) = persistent {
            // The next workgroup starts when no thread uses the memory of this one.
            self.line("bar.sync 0;");
            self.line(&format!("add.u32 {next}, {next}, {stride};"));
            self.line(&format!("bra {label};"));
        }
        self.place(&end);
        self.line("ret;");
    }

    fn begin_persistent(&mut self, end: &str) -> PersistentLoop {
        let [width, height, total, next, stride] = [(); 5].map(|()| self.register(Kind::Word));
        self.line(&format!("ld.param.u32 {width}, [workgroups_x];"));
        self.line(&format!("ld.param.u32 {height}, [workgroups_y];"));
        self.line(&format!("mul.lo.u32 {total}, {width}, {height};"));
        self.line(&format!("mov.u32 {next}, %ctaid.x;"));
        self.line(&format!("mov.u32 {stride}, %nctaid.x;"));
        let label = self.label();
        self.place(&label);
        let done = self.set(Type::Bool, |to| format!("setp.ge.u32 {to}, {next}, {total};"));
        self.line(&format!("@{done} bra {end};"));
        self.line(&format!("rem.u32 {}, {next}, {width};", self.workgroup[0]));
        self.line(&format!("div.u32 {}, {next}, {width};", self.workgroup[1]));
        PersistentLoop { next, stride, label }
    }
}

fn module(emitter: &Emitter<'_>) -> String {
    let Configuration { contract, target, isa, .. } = emitter.configuration;
    let mut text = String::with_capacity(emitter.code.len() + 1024);
    // A line break in the name must not end the comment.
    let name = contract.name.escape_default();
    let _ = writeln!(text, "// Lowered by {name}, contract version {}.", contract.version);
    let _ = writeln!(text, ".version {isa}\n.target {target}\n.address_size 64\n");
    let _ = writeln!(text, ".visible .entry {}(", emitter.interface.entry);
    let parameters = emitter.interface.parameters.iter().map(|parameter| match parameter {
        Parameter::Address(slot) => format!("    .param .u64 address_{slot}"),
        Parameter::Length(slot) => format!("    .param .u32 length_{slot}"),
        Parameter::WorkgroupsX => "    .param .u32 workgroups_x".to_owned(),
        Parameter::WorkgroupsY => "    .param .u32 workgroups_y".to_owned(),
    });
    let _ = writeln!(text, "{}", parameters.collect::<Vec<_>>().join(",\n"));
    let [x, y, z] = emitter.interface.workgroup;
    let _ = writeln!(text, ")\n.reqntid {x}, {y}, {z}\n{{");
    emitter.declare_registers(&mut text);
    for buffer in emitter.kernel.buffers.iter().filter(|it| it.access == Access::Workgroup) {
        let (slot, bytes) = (buffer.slot, buffer.shared_bytes());
        let _ = writeln!(text, "    .shared .align 16 .b8 shared_{slot}[{bytes}];");
    }
    if emitter.reduction_bytes > 0 {
        let _ = writeln!(text, "    .shared .align 16 .b8 partials[{}];", emitter.reduction_bytes);
    }
    let _ = writeln!(text, "\n{}}}", emitter.code);
    text
}
