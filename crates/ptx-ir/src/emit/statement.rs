//! Which instructions run a statement?

use ptx_key::NamedValue;

use super::emitter::{Emitter, copy};
use crate::{Statement, Type};

impl Emitter<'_> {
    pub(super) fn statements(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign(variable, value) => {
                let value = self.value(value);
                let variable = self.variables[variable.0 as usize].clone();
                self.line(&format!("{} {variable}, {value};", copy(value.kind)));
            }
            Statement::Store { buffer, index, value } => {
                let (index, value) = (self.value(index), self.value(value));
                self.store(self.buffer(*buffer), &index, &value);
            }
            Statement::AtomicAdd { buffer, index, value } => {
                let (index, value) = (self.value(index), self.value(value));
                self.atomic_add(self.buffer(*buffer), &index, &value);
            }
            Statement::If { condition, then, otherwise } => {
                let condition = self.value(condition);
                let (no, end) = (self.label(), self.label());
                self.line(&format!("@!{condition} bra {no};"));
                self.statements(then);
                self.line(&format!("bra {end};"));
                self.place(&no);
                self.statements(otherwise);
                self.place(&end);
            }
            Statement::For { variable, from, to, step, body } => {
                let (from, to) = (self.value(from), self.value(to));
                let variable = self.variables[variable.0 as usize].clone();
                let (next, end) = (self.label(), self.label());
                self.line(&format!("mov.u32 {variable}, {from};"));
                self.place(&next);
                let unroll = self.configuration.policy.named.get("unroll");
                if unroll == Some(&NamedValue::Bool(false)) {
                    self.line(".pragma \"nounroll\";");
                }
                let done =
                    self.set(Type::Bool, |done| format!("setp.ge.u32 {done}, {variable}, {to};"));
                self.line(&format!("@{done} bra {end};"));
                self.statements(body);
                self.line(&format!("add.u32 {variable}, {variable}, {step};"));
                self.line(&format!("bra {next};"));
                self.place(&end);
            }
            Statement::Barrier => self.line("bar.sync 0;"),
            Statement::Reduce { variable, reduction, value } => {
                let value = self.value(value);
                let reduced = self.reduce(*reduction, &value);
                let variable = self.variables[variable.0 as usize].clone();
                self.line(&format!("mov.f32 {variable}, {reduced};"));
            }
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                let (to, from) = (self.value(destination_index), self.value(source_index));
                self.async_copy((self.buffer(*destination), &to), (self.buffer(*source), &from));
            }
            Statement::AsyncCommit => {
                if self.copies_are_async() {
                    self.line("cp.async.commit_group;");
                }
            }
            Statement::AsyncWait(groups) => {
                if self.copies_are_async() {
                    self.line(&format!("cp.async.wait_group {groups};"));
                }
            }
        }
    }
}
