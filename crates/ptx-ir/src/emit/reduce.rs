//! How do the values of a workgroup's threads become one? By shuffles within subgroups, or by a tree
//! in workgroup memory.

use ptx_key::Feature;

use super::emitter::{Emitter, Value};
use crate::{Axis, Index, Reduction, Type};

impl Emitter<'_> {
    /// Leaves the combined value in a register of every thread.
    pub(super) fn reduce(&mut self, reduction: Reduction, value: &Value) -> Value {
        let size = self.interface.workgroup;
        if size[0] != self.threads() {
            self.refuse(format!("a reduction needs workgroups along x alone, not {size:?}"));
        }
        if self.configuration.features.contains(Feature::SubgroupOps) {
            self.reduce_by_subgroups(reduction, value)
        } else {
            self.reduce_by_tree(reduction, value)
        }
    }

    fn threads(&self) -> u32 {
        self.interface.workgroup.iter().product()
    }

    fn combine(&mut self, reduction: Reduction, left: &Value, right: &Value) -> Value {
        let instruction = match reduction {
            Reduction::Sum => "add.rn.f32",
            Reduction::Maximum => "max.f32",
        };
        self.set(Type::F32, |to| format!("{instruction} {to}, {left}, {right};"))
    }

    /// Combines by a butterfly within each subgroup (Mark Harris, *Optimizing Parallel Reduction in
    /// CUDA*, with shuffles in place of shared memory), then over the subgroups' values.
    fn reduce_by_subgroups(&mut self, reduction: Reduction, value: &Value) -> Value {
        let local = self.position(Index::Local, Axis::X);
        let threads = self.threads();
        let width = self.configuration.subgroup_size;
        if !threads.is_multiple_of(32) {
            self.refuse(format!(
                "a reduction by shuffles needs workgroups of whole warps of 32 threads, not \
                 {threads}; remove the feature {}",
                Feature::SubgroupOps.name()
            ));
        }
        // The upper bits of the clamp keep a lane within its segment.
        let clamp = ((32 - width) << 8) | 0x1f;
        let mut reduced = value.clone();
        let mut distance = width / 2;
        while distance > 0 {
            let other = self.set(Type::F32, |to| {
                format!("shfl.sync.bfly.b32 {to}, {reduced}, {distance}, {clamp}, 0xffffffff;")
            });
            reduced = self.combine(reduction, &reduced, &other);
            distance /= 2;
        }
        let subgroups = threads / width;
        if subgroups == 1 {
            return reduced;
        }
        self.reduction_bytes = self.reduction_bytes.max(subgroups * 4);
        let lane = self.set(Type::U32, |to| format!("and.b32 {to}, {local}, {};", width - 1));
        let subgroup = self.set(Type::U32, |to| format!("div.u32 {to}, {local}, {width};"));
        let first = self.set(Type::Bool, |to| format!("setp.eq.u32 {to}, {lane}, 0;"));
        let own = self.shared_address("partials", &subgroup, 4);
        self.line(&format!("@{first} st.shared.f32 [{own}], {reduced};"));
        self.line("bar.sync 0;");
        let mut total = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials];"));
        for number in 1..subgroups {
            let offset = number * 4;
            let next =
                self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials+{offset}];"));
            total = self.combine(reduction, &total, &next);
        }
        // The next reduction writes only after all threads have read these values.
        self.line("bar.sync 0;");
        total
    }

    fn reduce_by_tree(&mut self, reduction: Reduction, value: &Value) -> Value {
        let local = self.position(Index::Local, Axis::X);
        let threads = self.threads();
        if !threads.is_power_of_two() {
            self.refuse(format!(
                "a reduction without subgroup operations needs a power of two of threads, not \
                 {threads}"
            ));
        }
        self.reduction_bytes = self.reduction_bytes.max(threads * 4);
        let own = self.shared_address("partials", &local, 4);
        self.line(&format!("st.shared.f32 [{own}], {value};"));
        self.line("bar.sync 0;");
        let mut distance = threads / 2;
        while distance > 0 {
            let skip = self.label();
            let active =
                self.set(Type::Bool, |to| format!("setp.lt.u32 {to}, {local}, {distance};"));
            self.line(&format!("@!{active} bra {skip};"));
            let left = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [{own}];"));
            let offset = distance * 4;
            let right = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [{own}+{offset}];"));
            let both = self.combine(reduction, &left, &right);
            self.line(&format!("st.shared.f32 [{own}], {both};"));
            self.place(&skip);
            self.line("bar.sync 0;");
            distance /= 2;
        }
        let total = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials];"));
        self.line("bar.sync 0;");
        total
    }
}
