//! How is a lowered kernel launched?

use ptx_key::{Configuration, Feature};

use crate::check::check_workgroup;
use crate::{Access, Kernel, LowerError};

/// A parameter of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address (u64) of the buffer bound to this slot.
    Address(u32),
    /// The number of elements (u32) of the buffer bound to this slot.
    Length(u32),
    /// The number of workgroups (u32) that the work has in x. Only persistent workgroups take it.
    WorkgroupsX,
    /// The number of workgroups (u32) that the work has in y. Only persistent workgroups take it.
    WorkgroupsY,
}

/// What a launch needs to know beside the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of the entry.
    pub entry: String,
    /// The threads of a workgroup in x, y and z.
    pub workgroup: [u32; 3],
    /// The parameters of the entry, in order.
    pub parameters: Vec<Parameter>,
    /// True if the launch may use fewer workgroups than the work has, along x alone.
    pub persistent: bool,
}

impl Interface {
    /// Computes the interface of `kernel` under `configuration`.
    ///
    /// # Errors
    ///
    /// [`LowerError::Configuration`] if the kernel does not allow the workgroup override of the
    /// dispatch policy.
    pub fn of(kernel: &Kernel, configuration: &Configuration) -> Result<Self, LowerError> {
        let workgroup = configuration.policy.workgroup_override.unwrap_or(kernel.workgroup);
        check_override(kernel, workgroup)
            .map_err(|what| LowerError::Configuration { kernel: kernel.name.clone(), what })?;
        let bound = kernel.buffers.iter().filter(|buffer| buffer.access != Access::Workgroup);
        let mut slots: Vec<_> = bound.map(|buffer| buffer.slot).collect();
        slots.sort_unstable();
        let addresses = slots.iter().copied().map(Parameter::Address);
        let lengths = slots.iter().copied().map(Parameter::Length);
        let mut parameters: Vec<_> = addresses.chain(lengths).collect();
        let persistent = configuration.features.contains(Feature::PersistentThread);
        if persistent {
            parameters.extend([Parameter::WorkgroupsX, Parameter::WorkgroupsY]);
        }
        Ok(Self { entry: kernel.name.clone(), workgroup, parameters, persistent })
    }
}

fn check_override(kernel: &Kernel, size: [u32; 3]) -> Result<(), String> {
    let own = kernel.workgroup;
    if size != own && kernel.fixed_workgroup {
        return Err(format!(
            "it works only with workgroups of {own:?}, not {size:?}; remove the override from the \
             dispatch policy"
        ));
    }
    // Along an axis that the kernel does not use, more threads would do the same work again.
    if own.iter().zip(size).any(|(own, asked)| *own == 1 && asked != 1) {
        return Err(format!(
            "{size:?} overrides its workgroups of {own:?}; an extent of 1 must stay 1"
        ));
    }
    check_workgroup(size)
}
