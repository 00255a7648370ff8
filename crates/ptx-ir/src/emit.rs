//! What PTX does a kernel become under a configuration? Nothing else reaches the text.

mod emitter;
mod entry;
mod expression;
mod memory;
mod operation;
mod reduce;
mod statement;

use ptx_key::{Configuration, Feature, NamedValue};

use crate::{Element, Interface, Kernel, LowerError, oldest_isa};

/// Lowers `kernel` to PTX under `configuration`. Equal arguments give equal bytes.
///
/// These fields of the configuration reach the text: the contract (in a comment), target, ISA
/// version, subgroup size, ULP budget, workgroup override, the named policy `unroll` (a bool; false
/// keeps loops rolled), and the features subgroup operations, f16, bf16, asynchronous compute and
/// persistent threads. Tensor cores, a backend's own features, other named policies and the
/// toolchain do not.
///
/// # Errors
///
/// [`LowerError`] if the target is unknown, the ISA version is too old, the kernel needs a feature
/// that the configuration or the target lacks, or a policy cannot be met.
pub fn lower(kernel: &Kernel, configuration: &Configuration) -> Result<String, LowerError> {
    let interface = Interface::of(kernel, configuration)?;
    let Configuration { target, isa, .. } = configuration;
    let needed = oldest_isa(*target)?;
    if *isa < needed {
        return Err(LowerError::Isa { target: *target, needed, asked: *isa });
    }
    check_configuration(kernel, configuration)
        .and_then(|()| entry::lower(kernel, configuration, &interface))
        .map_err(|what| LowerError::Configuration { kernel: kernel.name.clone(), what })
}

fn check_configuration(kernel: &Kernel, configuration: &Configuration) -> Result<(), String> {
    let Configuration { target, subgroup_size, policy, features, .. } = configuration;
    if !subgroup_size.is_power_of_two() || *subgroup_size > 32 {
        return Err(format!(
            "no device has subgroups of {subgroup_size} threads; use 32, or a smaller power of two"
        ));
    }
    if let Some(other) = policy.named.get("unroll")
        && !matches!(other, NamedValue::Bool(_))
    {
        return Err(format!("the policy `unroll` is true or false, not {other:?}"));
    }
    for buffer in &kernel.buffers {
        let (feature, oldest_target) = match buffer.element {
            Element::F16 => (Feature::F16, 70),
            Element::Bf16 => (Feature::Bf16, 80),
            Element::F32 | Element::U32 | Element::I32 => continue,
        };
        let (slot, feature_name) = (buffer.slot, feature.name());
        if !features.contains(feature) {
            return Err(format!(
                "the buffer at slot {slot} needs the feature {feature_name}; add it"
            ));
        }
        if target.number < oldest_target {
            return Err(format!(
                "the feature {feature_name} needs target sm_{oldest_target} or newer, not {target}"
            ));
        }
    }
    Ok(())
}
