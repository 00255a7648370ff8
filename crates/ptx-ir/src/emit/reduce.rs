//! A value of the whole workgroup: by shuffles within subgroups, or by a tree in workgroup memory.

use ptx_key::Feature;

use super::expression::Value;
use super::{Emitter, Kind, Register};
use crate::{Axis, Index, LowerError, Reduction, Type};

impl Emitter<'_> {
    pub(super) fn reduce(
        &mut self,
        reduction: Reduction,
        value: &Value,
    ) -> Result<Value, LowerError> {
        let threads = self.threads();
        let [x, ..] = self.interface.workgroup;
        if x != threads {
            return self.refuse(format!(
                "a reduction needs workgroups along x alone, not {:?}",
                self.interface.workgroup
            ));
        }
        let local = self.position(Index::Local, Axis::X);
        if self.configuration.features.contains(Feature::SubgroupOps) {
            self.by_subgroups(reduction, value, &local, threads)
        } else {
            self.by_tree(reduction, value, &local, threads)
        }
    }

    fn combined(&mut self, reduction: Reduction, left: &Value, right: &Value) -> Value {
        let instruction = match reduction {
            Reduction::Sum => "add.rn.f32",
            Reduction::Maximum => "max.f32",
        };
        self.set(Type::F32, |to| format!("{instruction} {to}, {left}, {right};"))
    }

    /// Butterfly within each subgroup (Mark Harris, *Optimizing Parallel Reduction in CUDA*, with
    /// shuffles in place of shared memory), then over the subgroups' values.
    fn by_subgroups(
        &mut self,
        reduction: Reduction,
        value: &Value,
        local: &Value,
        threads: u32,
    ) -> Result<Value, LowerError> {
        let width = self.configuration.subgroup_size;
        if !threads.is_multiple_of(32) {
            return self.refuse(format!(
                "a reduction by shuffles needs workgroups of whole warps of 32 threads, not \
                 {threads}; leave the feature {} out",
                Feature::SubgroupOps.name()
            ));
        }
        // Lanes above the width stay apart: the upper bits of the clamp keep each segment its own.
        let clamp = ((32 - width) << 8) | 0x1f;
        let mut reduced = value.clone();
        let mut distance = width / 2;
        while distance > 0 {
            let other = self.set(Type::F32, |to| {
                format!("shfl.sync.bfly.b32 {to}, {reduced}, {distance}, {clamp}, 0xffffffff;")
            });
            reduced = self.combined(reduction, &reduced, &other);
            distance /= 2;
        }
        let subgroups = threads / width;
        if subgroups == 1 {
            return Ok(reduced);
        }
        self.reduction_bytes = self.reduction_bytes.max(subgroups * 4);
        let lane = self.set(Type::U32, |to| format!("and.b32 {to}, {local}, {};", width - 1));
        let subgroup = self.set(Type::U32, |to| format!("div.u32 {to}, {local}, {width};"));
        let first = self.register(Kind::Predicate);
        self.line(&format!("setp.eq.u32 {first}, {lane}, 0;"));
        let place = self.partial(&subgroup);
        self.line(&format!("@{first} st.shared.f32 [{place}], {reduced};"));
        self.line("bar.sync 0;");
        let mut total = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials];"));
        for number in 1..subgroups {
            let offset = number * 4;
            let next =
                self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials+{offset}];"));
            total = self.combined(reduction, &total, &next);
        }
        // The next reduction writes only when all have read this one's values.
        self.line("bar.sync 0;");
        Ok(total)
    }

    fn by_tree(
        &mut self,
        reduction: Reduction,
        value: &Value,
        local: &Value,
        threads: u32,
    ) -> Result<Value, LowerError> {
        if !threads.is_power_of_two() {
            return self.refuse(format!(
                "a reduction without subgroup operations needs a power of two of threads, not {threads}"
            ));
        }
        self.reduction_bytes = self.reduction_bytes.max(threads * 4);
        let mine = self.partial(local);
        self.line(&format!("st.shared.f32 [{mine}], {value};"));
        self.line("bar.sync 0;");
        let mut distance = threads / 2;
        while distance > 0 {
            let (active, skip) = (self.register(Kind::Predicate), self.label());
            self.line(&format!("setp.lt.u32 {active}, {local}, {distance};"));
            self.line(&format!("@!{active} bra {skip};"));
            let left = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [{mine}];"));
            let offset = distance * 4;
            let right = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [{mine}+{offset}];"));
            let both = self.combined(reduction, &left, &right);
            self.line(&format!("st.shared.f32 [{mine}], {both};"));
            self.place(&skip);
            self.line("bar.sync 0;");
            distance /= 2;
        }
        let total = self.set(Type::F32, |to| format!("ld.shared.f32 {to}, [partials];"));
        self.line("bar.sync 0;");
        Ok(total)
    }

    fn partial(&mut self, number: &Value) -> Register {
        let base = self.set(Type::U32, |to| format!("mov.u32 {to}, partials;"));
        self.set(Type::U32, |to| format!("mad.lo.u32 {to}, {number}, 4, {base};")).register
    }
}
