//! The identity of an assembled module: PTX together with device, assembler and JIT options.

use std::collections::BTreeMap;
use std::fmt;

use crate::encoding::Domain;
use crate::{Digest, Encoder, ModuleKey, NamedValue, PtxKey};

/// What a device can run, as the driver reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// 9 for an H200.
    pub major: u16,
    /// 0 for an H200.
    pub minor: u16,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Who turns PTX into machine code. An upgrade of either is another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembler {
    /// The CUDA driver.
    Driver {
        /// What `cuDriverGetVersion` returns (13000 for CUDA 13.0). Many builds share it, and each
        /// may assemble differently.
        version: u32,
        /// A digest of what tells the build from others. `None` where that is not known.
        build: Option<Digest>,
    },
    /// An offline assembler such as `ptxas`, by the digest of the tool itself.
    Tool {
        /// See [`Toolchain::fingerprint`](crate::Toolchain::fingerprint).
        fingerprint: Digest,
    },
}

/// Options of the assembly. `None` leaves a choice to the assembler, which is not the same as
/// asking for what it would choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// Optimisation level, 0 to 4.
    pub optimization_level: Option<u8>,
    /// Most registers a thread may use.
    pub max_registers: Option<u32>,
    /// Debug information, with optimisation off.
    pub debug_info: bool,
    /// Line numbers.
    pub line_info: bool,
    /// Options that have no field here, by the assembler's own names.
    pub named: BTreeMap<String, NamedValue>,
}

/// Everything beside the PTX that decides which machine code comes out.
///
/// ```
/// use ptx_key::*;
/// let jit = JitConfiguration {
///     compute_capability: ComputeCapability { major: 9, minor: 0 },
///     assembler: Assembler::Driver { version: 13000, build: None },
///     options: JitOptions::default(),
/// };
/// let by_text = jit.key_of_text(".version 8.0\n.target sm_90\n");
/// let by_key = jit.key_of_lowering(&PtxKey::from_bytes([7; 32]));
/// assert_ne!(by_text, by_key);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitConfiguration {
    /// The device's compute capability.
    pub compute_capability: ComputeCapability,
    /// Who assembles.
    pub assembler: Assembler,
    /// How.
    pub options: JitOptions,
}

impl JitConfiguration {
    /// The module of a lowering that has a key.
    pub fn key_of_lowering(&self, lowering: &PtxKey) -> ModuleKey {
        let mut key = Encoder::new(Domain::ModuleOfLowering);
        // mutation:begin
        key.bytes(lowering.as_bytes());
        // mutation:end
        self.finish(key)
    }

    /// The module of PTX text that came from anywhere.
    pub fn key_of_text(&self, text: &str) -> ModuleKey {
        let mut key = Encoder::new(Domain::ModuleOfText);
        // mutation:begin
        key.str(text);
        // mutation:end
        self.finish(key)
    }

    fn finish(&self, mut key: Encoder) -> ModuleKey {
        let Self { compute_capability, assembler, options } = self;
        let ComputeCapability { major, minor } = compute_capability;
        let JitOptions { optimization_level, max_registers, debug_info, line_info, named } =
            options;
        // mutation:begin
        key.u64((*major).into());
        key.u64((*minor).into());
        assembler.encode(&mut key);
        optional(&mut key, optimization_level.map(u64::from));
        optional(&mut key, max_registers.map(u64::from));
        key.bool(*debug_info);
        key.bool(*line_info);
        key.record("named", |key| {
            for (name, value) in named {
                key.str(name);
                value.encode(key);
            }
        });
        // mutation:end
        ModuleKey::from_bytes(*key.finish().as_bytes())
    }
}

impl Assembler {
    /// Whether an upgrade is sure to be another identity. If it is not, machine code must not be
    /// kept under a key of this assembler beyond the process.
    pub fn is_exact(&self) -> bool {
        !matches!(self, Self::Driver { build: None, .. })
    }

    fn encode(&self, key: &mut Encoder) {
        match self {
            Self::Driver { version, build } => {
                key.u64((*version).into());
                // What follows an assembler is never a digest.
                if let Some(build) = build {
                    key.digest(build);
                }
            }
            Self::Tool { fingerprint } => key.digest(fingerprint),
        }
    }
}

fn optional(key: &mut Encoder, value: Option<u64>) {
    match value {
        Some(value) => key.u64(value),
        None => key.absent(),
    }
}

#[cfg(test)]
mod tests;
