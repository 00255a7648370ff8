//! When are two assembled modules the same? When PTX, device, assembler and JIT options are.

use std::collections::BTreeMap;
use std::fmt;

use crate::encoding::{Domain, hash};
use crate::{Digest, Lanes, ModuleKey, NamedValue, PtxKey};

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

/// What turns PTX into machine code. An upgrade of it is another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembler {
    /// The CUDA driver.
    Driver {
        /// The number that `cuDriverGetVersion` returns: 13000 for CUDA 13.0. Many builds share
        /// it, and each may assemble differently.
        version: u32,
        /// A digest of what distinguishes the build from others. `None` if that is unknown.
        build: Option<Digest>,
    },
    /// An offline assembler such as `ptxas`.
    Tool {
        /// The digest of the tool's file. [`Digest::of_file`] computes it.
        fingerprint: Digest,
    },
}

/// Options of the assembly.
///
/// `None` leaves a choice to the assembler. It differs from asking for the value that the
/// assembler would choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// The optimization level, 0 to 4.
    pub optimization_level: Option<u8>,
    /// The largest number of registers that a thread may use.
    pub max_registers: Option<u32>,
    /// Emits debug information, which turns optimization off.
    pub debug_info: bool,
    /// Emits line numbers.
    pub line_info: bool,
    /// Options without a field here, by the assembler's own names.
    pub named: BTreeMap<String, NamedValue>,
}

/// Everything beside the PTX that decides the machine code.
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
    /// What assembles.
    pub assembler: Assembler,
    /// The options of the assembly.
    pub options: JitOptions,
}

impl JitConfiguration {
    /// Computes the key of the module of a lowering.
    pub fn key_of_lowering(&self, lowering: &PtxKey) -> ModuleKey {
        self.key(Domain::ModuleOfLowering, |key| {
            // mutation:begin
            key.bytes(lowering.as_bytes());
            // mutation:end
        })
    }

    /// Computes the key of the module of a PTX text, for texts that have no [`PtxKey`].
    pub fn key_of_text(&self, text: &str) -> ModuleKey {
        self.key(Domain::ModuleOfText, |key| {
            // mutation:begin
            key.str(text);
            // mutation:end
        })
    }

    fn key(&self, domain: Domain, ptx: impl FnOnce(&mut Lanes)) -> ModuleKey {
        let Self { compute_capability, assembler, options } = self;
        let ComputeCapability { major, minor } = compute_capability;
        let JitOptions { optimization_level, max_registers, debug_info, line_info, named } =
            options;
        let digest = hash(domain, |key| {
            ptx(key);
            // mutation:begin
            key.u64((*major).into());
            key.u64((*minor).into());
            assembler.encode(key);
            optional(key, optimization_level.map(u64::from));
            optional(key, max_registers.map(u64::from));
            key.bool(*debug_info);
            key.bool(*line_info);
            key.record("named", |key| {
                for (name, value) in named {
                    key.str(name);
                    value.encode(key);
                }
            });
            // mutation:end
        });
        ModuleKey::from_bytes(*digest.as_bytes())
    }
}

impl Assembler {
    /// Returns true if every upgrade of the assembler changes the key.
    ///
    /// If it returns false, do not store machine code beyond this process.
    pub fn is_exact(&self) -> bool {
        !matches!(self, Self::Driver { build: None, .. })
    }

    fn encode(&self, key: &mut Lanes) {
        match self {
            Self::Driver { version, build } => {
                key.u64((*version).into());
                // The next token is never a digest, so this one can be left out.
                if let Some(build) = build {
                    key.digest(build);
                }
            }
            Self::Tool { fingerprint } => key.digest(fingerprint),
        }
    }
}

fn optional(key: &mut Lanes, value: Option<u64>) {
    match value {
        Some(value) => key.u64(value),
        None => key.absent(),
    }
}

#[cfg(test)]
mod tests;
