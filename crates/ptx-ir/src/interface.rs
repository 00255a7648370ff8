//! How a lowered kernel is launched: what the emitter declares and a launcher passes.

use ptx_key::{Configuration, Feature};

use crate::{Access, Kernel, LowerError, check};

/// One parameter of the entry, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address (u64) of the buffer bound to this slot.
    Address(u32),
    /// The number of elements (u32) of the buffer bound to this slot.
    Length(u32),
    /// The number of workgroups (u32) to be done in x, where workgroups are persistent.
    WorkgroupsX,
    /// The same in y.
    WorkgroupsY,
}

/// What a launcher needs to know of a lowered kernel beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The entry's name.
    pub entry: String,
    /// Threads of a workgroup in x, y and z.
    pub workgroup: [u32; 3],
    /// The entry's parameters.
    pub parameters: Vec<Parameter>,
    /// Whether any number of workgroups (in x alone) does the work of all.
    pub persistent: bool,
}

impl Interface {
    /// The interface of `kernel` as `configuration` lowers it.
    ///
    /// # Errors
    ///
    /// [`LowerError`] where the dispatch policy asks for a workgroup that cannot be.
    pub fn of(kernel: &Kernel, configuration: &Configuration) -> Result<Self, LowerError> {
        let parts = kernel.parts();
        let workgroup = match configuration.policy.workgroup_override {
            None => parts.workgroup.size,
            Some(size) if size == parts.workgroup.size => size,
            Some(size) if parts.workgroup.fixed => {
                return Err(LowerError::Configuration {
                    kernel: parts.name.clone(),
                    what: format!(
                        "it is written for workgroups of {:?}, and the dispatch policy asks for \
                         {size:?}; leave the override out",
                        parts.workgroup.size
                    ),
                });
            }
            Some(size) => {
                // Along an axis that the kernel does not use, every thread would do it all again.
                let mut extents = parts.workgroup.size.iter().zip(size);
                if extents.any(|(own, asked)| *own == 1 && asked != 1) {
                    return Err(LowerError::Configuration {
                        kernel: parts.name.clone(),
                        what: format!(
                            "its workgroups of {:?} are overridden by {size:?}; an extent of 1 \
                             must stay 1",
                            parts.workgroup.size
                        ),
                    });
                }
                size
            }
        };
        check::check_workgroup(&parts.name, workgroup)?;
        let mut bound: Vec<_> =
            parts.buffers.iter().filter(|it| it.access != Access::Workgroup).collect();
        bound.sort_by_key(|buffer| buffer.slot);
        let addresses = bound.iter().map(|buffer| Parameter::Address(buffer.slot));
        let lengths = bound.iter().map(|buffer| Parameter::Length(buffer.slot));
        let mut parameters: Vec<_> = addresses.chain(lengths).collect();
        let persistent = configuration.features.contains(Feature::PersistentThread);
        if persistent {
            parameters.extend([Parameter::WorkgroupsX, Parameter::WorkgroupsY]);
        }
        Ok(Self { entry: parts.name.clone(), workgroup, parameters, persistent })
    }
}
