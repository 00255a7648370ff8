//! How do a program and a configuration become a key?
//!
//! Each field of the configuration is digested under its name. The digest of these named digests
//! and the digests of the program's lanes make the key.

use std::borrow::Cow;
use std::sync::Arc;

use crate::encoding::{Domain, hash};
use crate::trace::TraceField;
use crate::{
    CompilerOption, Configuration, Contract, Digest, DispatchPolicy, FeatureFlags, KeyError,
    KeyTrace, Lanes, ProgramDigests, PtxKey, Toolchain,
};

/// Computes the keys of one configuration.
///
/// Create one for each configuration and keep it: [`new`](Self::new) digests the configuration, so
/// that a key costs one walk of the program and one short hash, without an allocation. A
/// [`KeyTrace`] is not needed for a key: ask for it when a program is really lowered.
///
/// Both methods take `&program` for any [`Identity`](crate::Identity), or its [`ProgramDigests`].
#[derive(Clone, Debug)]
pub struct KeyBuilder {
    /// Sorted by name, each name once.
    configuration: Arc<[TraceField]>,
    digest: Digest,
}

impl KeyBuilder {
    /// Digests every field of a configuration.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unkeyable`] if the toolchain has no fingerprint. Lower such a program without
    /// the cache.
    pub fn new(configuration: &Configuration) -> Result<Self, KeyError> {
        let mut fields = configuration_fields(configuration)?;
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { digest: configuration_digest(&fields), configuration: fields.into() })
    }

    /// Computes the key of a program under this configuration.
    pub fn key(&self, program: impl Into<ProgramDigests>) -> PtxKey {
        ptx_key(&program.into(), &self.digest)
    }

    /// Collects the parts of a program's key, to store with its artifact.
    pub fn trace(&self, program: impl Into<ProgramDigests>) -> KeyTrace {
        KeyTrace { program: program.into(), configuration: Arc::clone(&self.configuration) }
    }
}

// Here and not in `trace.rs`, so that one file says how parts become a key.
impl KeyTrace {
    /// Computes the key of these parts.
    pub fn key(&self) -> PtxKey {
        ptx_key(&self.program, &configuration_digest(&self.configuration))
    }
}

fn ptx_key(program: &ProgramDigests, configuration: &Digest) -> PtxKey {
    let digest = hash(Domain::Ptx, |key| {
        // mutation:begin
        key.digest(&program.normalized);
        exact_lane(key, program.exact.as_ref());
        key.digest(configuration);
        // mutation:end
    });
    PtxKey::from_bytes(*digest.as_bytes())
}

fn exact_lane(key: &mut Lanes, exact: Option<&Digest>) {
    match exact {
        Some(exact) => key.digest(exact),
        None => key.absent(),
    }
}

/// `fields` must be sorted by name.
fn configuration_digest(fields: &[TraceField]) -> Digest {
    hash(Domain::Configuration, |configuration| {
        for TraceField { name, digest } in fields {
            configuration.str(name);
            configuration.digest(digest);
        }
    })
}

fn field(name: impl Into<Cow<'static, str>>, value: impl FnOnce(&mut Lanes)) -> TraceField {
    TraceField { name: name.into(), digest: hash(Domain::Field, value) }
}

fn configuration_fields(configuration: &Configuration) -> Result<Vec<TraceField>, KeyError> {
    // Each type is destructured in full: a new part that is not digested does not compile.
    let Configuration { contract, target, isa, subgroup_size, policy, features, toolchain } =
        configuration;
    let Contract { name, version } = contract;
    let DispatchPolicy { ulp_budget, workgroup_override, named: named_policies } = policy;
    let FeatureFlags { known, named: named_features } = features;
    let mut fields = Vec::with_capacity(16);
    // `cargo xtask mutation` deletes each statement between these marks and expects a test to fail.
    // mutation:begin
    fields.push(field("contract/name", |field| field.str(name)));
    fields.push(field("contract/version", |field| field.u64((*version).into())));
    fields.push(field("target", |field| field.str(&target.to_string())));
    fields.push(field("ptx_isa", |field| field.str(&isa.to_string())));
    fields.push(field("subgroup_size", |field| field.u64((*subgroup_size).into())));
    fields.push(field("policy/ulp_budget", |field| match ulp_budget {
        Some(ulp) => field.u64((*ulp).into()),
        None => field.absent(),
    }));
    fields.push(field("policy/workgroup_override", |field| match workgroup_override {
        Some(extents) => {
            for extent in extents {
                field.u64((*extent).into());
            }
        }
        None => field.absent(),
    }));
    fields.extend(
        named_policies.iter().map(|(name, value)| {
            field(format!("policy/named/{name}"), |field| value.encode(field))
        }),
    );
    fields.extend(
        known
            .iter()
            .map(|feature| field(format!("feature/{}", feature.name()), |field| field.bool(true))),
    );
    fields.extend(
        named_features
            .iter()
            .map(|name| field(format!("feature/named/{name}"), |field| field.bool(true))),
    );
    // mutation:end
    if let Some(toolchain) = toolchain {
        toolchain_fields(toolchain, &mut fields)?;
    }
    Ok(fields)
}

fn toolchain_fields(toolchain: &Toolchain, fields: &mut Vec<TraceField>) -> Result<(), KeyError> {
    let Toolchain { name, version, fingerprint, ordered, unordered, contents } = toolchain;
    let fingerprint = fingerprint
        .as_ref()
        .map_err(|reason| KeyError::Unkeyable { tool: name.clone(), reason: reason.clone() })?;
    // mutation:begin
    fields.push(field("toolchain/name", |field| field.str(name)));
    fields.push(field("toolchain/version", |field| field.str(version)));
    fields.push(field("toolchain/fingerprint", |field| field.digest(fingerprint)));
    fields.push(field("toolchain/options", |field| encode_options(ordered, field)));
    fields.extend(unordered.iter().map(|(name, options)| {
        field(format!("toolchain/option/{name}"), |field| encode_options(options, field))
    }));
    fields.extend(contents.iter().map(|(name, digest)| {
        field(format!("toolchain/content/{name}"), |field| field.digest(digest))
    }));
    // mutation:end
    Ok(())
}

fn encode_options(options: &[CompilerOption], field: &mut Lanes) {
    for option in options {
        option.encode(field);
    }
}

#[cfg(test)]
mod tests;
