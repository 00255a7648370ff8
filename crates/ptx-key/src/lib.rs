//! Says when two lowerings are the same.
//!
//! A GPU back end lowers a program to PTX under some configuration. [`KeyBuilder`] makes a
//! [`PtxKey`] of the two: **equal keys imply byte-equal PTX**, for every program and every
//! configuration, as long as the emitter is given nothing but that program and that
//! [`Configuration`]. [`JitConfiguration`] goes on to a [`ModuleKey`] for the machine code that a
//! driver or `ptxas` makes of the PTX.
//!
//! A key is SHA-256 over an injective encoding of named fields. It is the same on every platform,
//! in every process and in every release with the same [`ENCODING_VERSION`]; `ENCODING.md` is the
//! specification, and `golden/recompute.py` recomputes the committed vectors from it.
//!
//! ```
//! use ptx_key::*;
//!
//! struct Saxpy { elements: Option<u64> }
//! impl Identity for Saxpy {
//!     fn identify(&self, lanes: &mut Lanes) {
//!         lanes.str("saxpy");
//!         // The emitter passes the length at run time, so variants of it are one family.
//!         lanes.exact_only(|exact| exact.u64(self.elements.unwrap_or(0)));
//!     }
//! }
//!
//! let configuration = Configuration {
//!     contract: Contract::new("my-back-end", 1),
//!     target: "sm_90".parse()?,
//!     isa: "8.0".parse()?,
//!     subgroup_size: 32,
//!     policy: DispatchPolicy::default(),
//!     features: FeatureFlags::new(),
//!     toolchain: None,
//! };
//! let keys = KeyBuilder::new(&configuration)?;
//! let (short, long) = (Saxpy { elements: Some(16) }, Saxpy { elements: Some(64) });
//! assert_ne!(keys.key(&short), keys.key(&long));
//! let family = |program| keys.trace(program).program().normalized;
//! assert_eq!(family(&short), family(&long));
//! # Ok::<(), KeyError>(())
//! ```
//!
//! # What it does not do
//!
//! It cannot see what a back end forgets to write: a global flag, an environment variable, a
//! header that was read. `ptx-cache` has a verify mode that finds such gaps. It stores nothing
//! and reads no file except those whose digest is asked for.
//!
//! # Costs
//!
//! A configuration is digested once, by [`KeyBuilder::new`]. A key costs one walk of the program
//! into two SHA-256 states and one short hash; nothing is allocated in proportion to the program.
//! A back end that makes a key on each dispatch should keep the key with the program.
//!
//! # Dependencies
//!
//! `sha2` hashes (with the processor's SHA instructions where it has them), `base16ct` reads and
//! writes hexadecimal digits, `thiserror` derives the error type.

mod builder;
mod compiler_option;
mod configuration;
mod content;
mod encoding;
mod error;
mod identity;
mod key;
mod module;
mod named_files;
mod policy;
mod target;
mod toolchain;
mod trace;

pub use builder::KeyBuilder;
pub use compiler_option::CompilerOption;
pub use configuration::{Configuration, Contract};
pub use encoding::{ENCODING_VERSION, Encoder};
pub use error::KeyError;
pub use identity::{Identity, Lanes, ProgramDigests};
pub use key::{BuildKeyHasher, DIGEST_BYTES, Digest, KeyHasher, ModuleKey, PtxKey};
pub use module::{Assembler, ComputeCapability, JitConfiguration, JitOptions};
pub use policy::{DispatchPolicy, Feature, FeatureFlags, NamedValue};
pub use target::{PtxIsa, Target, Variant};
pub use toolchain::Toolchain;
pub use trace::{Change, Difference, KeyTrace, TraceField};
