//! Statements.

use ptx_key::Feature;

use super::{Emitter, Kind};
use crate::{Access, BufferId, Expression, LowerError, Statement, Type};

/// The oldest target with asynchronous copies. PTX has them since that target's oldest version.
const ASYNC_TARGET: u16 = 80;

impl Emitter<'_> {
    pub(super) fn statements(&mut self, body: &[Statement]) -> Result<(), LowerError> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), LowerError> {
        match statement {
            Statement::Assign(variable, value) => {
                let value = self.value(value)?;
                let variable = self.variable(*variable)?;
                let instruction = if value.kind == Type::Bool { "mov.pred" } else { "mov.b32" };
                self.line(&format!("{instruction} {variable}, {value};"));
            }
            Statement::Store { buffer, index, value } => {
                let buffer = self.buffer(*buffer)?;
                let (index, value) = (self.value(index)?, self.value(value)?);
                let address = self.address(buffer, &index);
                let (stored, kind) = self.stored(buffer.element, &value);
                let space = space(buffer.access);
                self.line(&format!("st.{space}.{kind} [{address}], {stored};"));
            }
            Statement::AtomicAdd { buffer, index, value } => {
                let buffer = self.buffer(*buffer)?;
                let (index, value) = (self.value(index)?, self.value(value)?);
                let address = self.address(buffer, &index);
                let space = space(buffer.access);
                let kind = super::expression::suffix(value.kind);
                self.line(&format!("red.{space}.add.{kind} [{address}], {value};"));
            }
            Statement::If { condition, then, otherwise } => {
                let condition = self.value(condition)?;
                let (no, end) = (self.label(), self.label());
                self.line(&format!("@!{condition} bra {no};"));
                self.statements(then)?;
                self.line(&format!("bra {end};"));
                self.place(&no);
                self.statements(otherwise)?;
                self.place(&end);
            }
            Statement::For { variable, from, to, step, body } => {
                let (from, to) = (self.value(from)?, self.value(to)?);
                let variable = self.variable(*variable)?;
                let (turn, end) = (self.label(), self.label());
                self.line(&format!("mov.u32 {variable}, {from};"));
                self.place(&turn);
                if self.keep_rolled {
                    self.line(".pragma \"nounroll\";");
                }
                let done = self.register(Kind::Predicate);
                self.line(&format!("setp.ge.u32 {done}, {variable}, {to};"));
                self.line(&format!("@{done} bra {end};"));
                self.statements(body)?;
                self.line(&format!("add.u32 {variable}, {variable}, {step};"));
                self.line(&format!("bra {turn};"));
                self.place(&end);
            }
            Statement::Barrier => self.line("bar.sync 0;"),
            Statement::Reduce { variable, reduction, value } => {
                let value = self.value(value)?;
                let reduced = self.reduce(*reduction, &value)?;
                let variable = self.variable(*variable)?;
                self.line(&format!("mov.f32 {variable}, {reduced};"));
            }
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                self.async_copy((*destination, destination_index), (*source, source_index))?;
            }
            Statement::AsyncCommit => {
                if self.copies_are_async()? {
                    self.line("cp.async.commit_group;");
                }
            }
            Statement::AsyncWait(groups) => {
                if self.copies_are_async()? {
                    self.line(&format!("cp.async.wait_group {groups};"));
                }
            }
        }
        Ok(())
    }

    /// Whether copies run beside the thread. Without the feature they are plain loads and stores.
    fn copies_are_async(&self) -> Result<bool, LowerError> {
        let configuration = self.configuration;
        if !configuration.features.contains(Feature::AsyncCompute) {
            return Ok(false);
        }
        if configuration.target.number() < ASYNC_TARGET {
            return self.refuse(format!(
                "asynchronous copies need target sm_{ASYNC_TARGET} or newer, not {}; leave the \
                 feature {} out",
                configuration.target,
                Feature::AsyncCompute.name()
            ));
        }
        Ok(true)
    }

    fn async_copy(
        &mut self,
        (destination, destination_index): (BufferId, &Expression),
        (source, source_index): (BufferId, &Expression),
    ) -> Result<(), LowerError> {
        let asynchronous = self.copies_are_async()?;
        let (to, from) = (self.buffer(destination)?, self.buffer(source)?);
        let (to_index, from_index) = (self.value(destination_index)?, self.value(source_index)?);
        let (to_address, from_address) =
            (self.address(to, &to_index), self.address(from, &from_index));
        let inside = self.register(Kind::Predicate);
        let slot = from.slot;
        match from.count {
            // The one place where a storage length is in the code.
            Some(count) if asynchronous => {
                self.line(&format!("setp.lt.u32 {inside}, {from_index}, {count};"));
            }
            _ => {
                let length =
                    self.set(Type::U32, |to| format!("ld.param.u32 {to}, [length_{slot}];"));
                self.line(&format!("setp.lt.u32 {inside}, {from_index}, {length};"));
            }
        }
        if asynchronous {
            self.copies = true;
            // Of a size of zero nothing is read and the destination is filled with zeros.
            let size = self.set(Type::U32, |to| format!("selp.u32 {to}, 4, 0, {inside};"));
            self.line(&format!(
                "cp.async.ca.shared.global [{to_address}], [{from_address}], 4, {size};"
            ));
        } else {
            let value = self.set(Type::U32, |to| format!("mov.u32 {to}, 0;"));
            self.line(&format!("@{inside} ld.global.u32 {value}, [{from_address}];"));
            self.line(&format!("st.shared.u32 [{to_address}], {value};"));
        }
        Ok(())
    }
}

const fn space(access: Access) -> &'static str {
    match access {
        Access::Workgroup => "shared",
        Access::Read | Access::Write | Access::ReadWrite | Access::Uniform => "global",
    }
}
