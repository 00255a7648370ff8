//! How does code reach the elements of a buffer?

use ptx_key::Feature;

use super::emitter::{Emitter, Kind, Value, suffix};
use crate::{Access, Buffer, BufferId, Element, Type};

/// The oldest target with asynchronous copies. PTX has them since that target's oldest version.
const ASYNC_TARGET: u16 = 80;

impl Emitter<'_> {
    /// [`Kernel::new`](crate::Kernel::new) checked that the buffer exists.
    pub(super) fn buffer(&self, BufferId(id): BufferId) -> Buffer {
        self.kernel.buffers[id as usize]
    }

    pub(super) fn length(&mut self, slot: u32) -> Value {
        self.set(Type::U32, |to| format!("ld.param.u32 {to}, [length_{slot}];"))
    }

    /// The address of an element, as it stands between brackets.
    fn address(&mut self, buffer: Buffer, index: &Value) -> String {
        let (slot, bytes) = (buffer.slot, buffer.element.bytes());
        if buffer.access == Access::Workgroup {
            return self.shared_address(&format!("shared_{slot}"), index, bytes);
        }
        let [base, global, address] = [(); 3].map(|()| self.register(Kind::Address));
        self.line(&format!("ld.param.u64 {base}, [address_{slot}];"));
        self.line(&format!("cvta.to.global.u64 {global}, {base};"));
        self.line(&format!("mad.wide.u32 {address}, {index}, {bytes}, {global};"));
        address
    }

    pub(super) fn shared_address(&mut self, array: &str, index: &Value, bytes: u32) -> String {
        let base = self.set(Type::U32, |to| format!("mov.u32 {to}, {array};"));
        let address = |to: &str| format!("mad.lo.u32 {to}, {index}, {bytes}, {base};");
        self.set(Type::U32, address).register
    }

    pub(super) fn load(&mut self, buffer: Buffer, index: &Value) -> Value {
        let address = self.address(buffer, index);
        let space = match buffer.access {
            // No thread writes it while the kernel runs.
            Access::Read => "global.nc",
            access => space(access),
        };
        match buffer.element {
            Element::F32 | Element::U32 | Element::I32 => {
                let kind = buffer.element.loaded();
                self.set(kind, |to| format!("ld.{space}.{} {to}, [{address}];", suffix(kind)))
            }
            Element::F16 => {
                let half = self.register(Kind::Half);
                self.line(&format!("ld.{space}.b16 {half}, [{address}];"));
                self.set(Type::F32, |to| format!("cvt.f32.f16 {to}, {half};"))
            }
            Element::Bf16 => {
                let [half, zero] = [(); 2].map(|()| self.register(Kind::Half));
                self.line(&format!("ld.{space}.b16 {half}, [{address}];"));
                self.line(&format!("mov.b16 {zero}, 0;"));
                // A brain float is the upper half of the f32 of the same value.
                self.set(Type::F32, |to| format!("mov.b32 {to}, {{{zero}, {half}}};"))
            }
        }
    }

    pub(super) fn store(&mut self, buffer: Buffer, index: &Value, value: &Value) {
        let (address, space) = (self.address(buffer, index), space(buffer.access));
        let narrow = match buffer.element {
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::F32 | Element::U32 | Element::I32 => {
                let typed = suffix(value.kind);
                return self.line(&format!("st.{space}.{typed} [{address}], {value};"));
            }
        };
        let half = self.register(Kind::Half);
        self.line(&format!("cvt.rn.{narrow}.f32 {half}, {value};"));
        self.line(&format!("st.{space}.b16 [{address}], {half};"));
    }

    pub(super) fn atomic_add(&mut self, buffer: Buffer, index: &Value, value: &Value) {
        let (address, space) = (self.address(buffer, index), space(buffer.access));
        self.line(&format!("red.{space}.add.{} [{address}], {value};", suffix(value.kind)));
    }

    /// True if copies run beside the thread. Without the feature they are loads and stores.
    pub(super) fn copies_are_async(&mut self) -> bool {
        let (target, feature) = (self.configuration.target, Feature::AsyncCompute);
        let asynchronous = self.configuration.features.contains(feature);
        if asynchronous && target.number < ASYNC_TARGET {
            self.refuse(format!(
                "asynchronous copies need target sm_{ASYNC_TARGET} or newer, not {target}; remove \
                 the feature {}",
                feature.name()
            ));
        }
        asynchronous
    }

    pub(super) fn async_copy(&mut self, to: (Buffer, &Value), from: (Buffer, &Value)) {
        let asynchronous = self.copies_are_async();
        let (to_address, from_address) = (self.address(to.0, to.1), self.address(from.0, from.1));
        let inside = self.register(Kind::Predicate);
        let bound = match from.0.count {
            // The one place where the code contains a storage length.
            Some(count) if asynchronous => count.to_string(),
            _ => self.length(from.0.slot).register,
        };
        self.line(&format!("setp.lt.u32 {inside}, {}, {bound};", from.1));
        if asynchronous {
            self.has_async_copies = true;
            // A copy of size zero reads nothing and fills the destination with zeros.
            let size = self.set(Type::U32, |to| format!("selp.u32 {to}, 4, 0, {inside};"));
            self.line(&format!(
                "cp.async.ca.shared.global [{to_address}], [{from_address}], 4, {size};"
            ));
        } else {
            let value = self.set(Type::U32, |to| format!("mov.u32 {to}, 0;"));
            self.line(&format!("@{inside} ld.global.u32 {value}, [{from_address}];"));
            self.line(&format!("st.shared.u32 [{to_address}], {value};"));
        }
    }
}

const fn space(access: Access) -> &'static str {
    match access {
        Access::Workgroup => "shared",
        Access::Read | Access::ReadWrite => "global",
    }
}
