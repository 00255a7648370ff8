//! From a program and its configuration to a key: every field is digested under its name, the
//! named digests are digested in turn.

use std::borrow::Cow;

use crate::encoding::Domain;
use crate::{
    Configuration, Contract, Digest, DispatchPolicy, Encoder, FeatureFlags, Identity, KeyError,
    KeyTrace, ProgramDigests, PtxKey, Toolchain, TraceField,
};

/// Makes the keys of one configuration.
///
/// The configuration is digested once, here. A key then costs one walk of the program and one
/// short hash, with no allocation.
///
/// ```
/// use ptx_key::*;
///
/// struct Saxpy;
/// impl Identity for Saxpy {
///     fn identify(&self, lanes: &mut Lanes) { lanes.str("saxpy"); }
/// }
///
/// let mut configuration = Configuration {
///     contract: Contract::new("my-back-end", 3),
///     target: "sm_90a".parse()?,
///     isa: "8.0".parse()?,
///     subgroup_size: 32,
///     policy: DispatchPolicy::default(),
///     features: FeatureFlags::of([Feature::SubgroupOps]),
///     toolchain: None,
/// };
/// let key = KeyBuilder::new(&configuration)?.key(&Saxpy);
///
/// configuration.policy.ulp_budget = Some(2);
/// let precise = KeyBuilder::new(&configuration)?;
/// assert_ne!(precise.key(&Saxpy), key);
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyBuilder {
    configuration: Vec<TraceField>,
    digest: Digest,
}

impl KeyBuilder {
    /// Digests every field of `configuration`.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unkeyable`] when the toolchain has no fingerprint: such a request is lowered
    /// and not kept.
    pub fn new(configuration: &Configuration) -> Result<Self, KeyError> {
        let mut fields = configuration_fields(configuration)?;
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let digest = configuration_digest(&fields);
        Ok(Self { configuration: fields, digest })
    }

    /// The key of `program` under this configuration.
    pub fn key<P: Identity + ?Sized>(&self, program: &P) -> PtxKey {
        self.key_of(&ProgramDigests::of(program))
    }

    /// The key of a program whose lanes are digested already.
    pub fn key_of(&self, program: &ProgramDigests) -> PtxKey {
        ptx_key(program, &self.digest)
    }

    /// The key's parts, a digest for each named field, to keep with the artifact: they explain a
    /// later miss.
    pub fn trace<P: Identity + ?Sized>(&self, program: &P) -> KeyTrace {
        self.trace_of(ProgramDigests::of(program))
    }

    /// The trace of a program whose lanes are digested already.
    pub fn trace_of(&self, program: ProgramDigests) -> KeyTrace {
        KeyTrace::new(program, self.configuration.clone())
    }
}

/// The key that these parts make. A key trace holds the same parts, so it can be checked against
/// its key.
pub(crate) fn ptx_key(program: &ProgramDigests, configuration: &Digest) -> PtxKey {
    let mut key = Encoder::new(Domain::Ptx);
    // mutation:begin
    key.digest(&program.normalized);
    exact_lane(&mut key, program.exact.as_ref());
    key.digest(configuration);
    // mutation:end
    PtxKey::from_bytes(*key.finish().as_bytes())
}

fn exact_lane(key: &mut Encoder, exact: Option<&Digest>) {
    match exact {
        Some(exact) => key.digest(exact),
        None => key.absent(),
    }
}

/// Digests fields that are sorted by name.
pub(crate) fn configuration_digest(fields: &[TraceField]) -> Digest {
    let mut all = Encoder::new(Domain::Configuration);
    for TraceField { name, digest } in fields {
        all.str(name);
        all.digest(digest);
    }
    all.finish()
}

fn field(name: impl Into<Cow<'static, str>>, content: impl FnOnce(&mut Encoder)) -> TraceField {
    let mut encoder = Encoder::new(Domain::Field);
    content(&mut encoder);
    TraceField { name: name.into(), digest: encoder.finish() }
}

fn configuration_fields(configuration: &Configuration) -> Result<Vec<TraceField>, KeyError> {
    // Each type is taken apart in full: a new part that is not digested does not compile.
    let Configuration { contract, target, isa, subgroup_size, policy, features, toolchain } =
        configuration;
    let Contract { name, version } = contract;
    let DispatchPolicy { ulp_budget, workgroup_override, named: policies } = policy;
    let FeatureFlags { known, named: own_features } = features;
    let mut fields = Vec::with_capacity(16);
    // `cargo xtask mutation` deletes each statement between these marks and expects a failing test.
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
        Some([x, y, z]) => {
            field.u64((*x).into());
            field.u64((*y).into());
            field.u64((*z).into());
        }
        None => field.absent(),
    }));
    fields.extend(
        policies.iter().map(|(name, value)| {
            field(format!("policy/named/{name}"), |field| value.encode(field))
        }),
    );
    fields.extend(
        known
            .iter()
            .map(|feature| field(format!("feature/{}", feature.name()), |field| field.bool(true))),
    );
    fields.extend(
        own_features
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
    fields.push(field("toolchain/options", |field| {
        for option in ordered {
            option.encode(field);
        }
    }));
    fields.extend(unordered.iter().map(|(name, options)| {
        field(format!("toolchain/option/{name}"), |field| {
            for option in options {
                option.encode(field);
            }
        })
    }));
    fields.extend(contents.iter().map(|(name, digest)| {
        field(format!("toolchain/content/{name}"), |field| field.digest(digest))
    }));
    // mutation:end
    Ok(())
}

#[cfg(test)]
mod tests;
