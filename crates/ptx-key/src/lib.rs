//! Says when two lowerings are the same.
//!
//! A GPU backend lowers a program to PTX under a configuration. [`KeyBuilder`] computes a
//! [`PtxKey`] of the two: **equal keys imply byte-equal PTX**, for every program and every
//! configuration, if the emitter is given nothing but that program and that [`Configuration`].
//!
//! Look up the key first, and keep it with the program if you can. Ask for a [`KeyTrace`] only
//! when a program is really lowered: it is stored with the text to explain a later miss.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use ptx_key::*;
//!
//! struct Saxpy { elements: u64 }
//!
//! impl Identity for Saxpy {
//!     fn identify(&self, lanes: &mut Lanes) {
//!         lanes.str("saxpy");
//!         // The emitter reads the length at run time, so all lengths are one family.
//!         lanes.exact_only(|exact| exact.u64(self.elements));
//!     }
//! }
//!
//! let configuration = Configuration {
//!     contract: Contract::new("my-backend", 1),
//!     target: "sm_90".parse()?,
//!     isa: "8.0".parse()?,
//!     subgroup_size: 32,
//!     policy: DispatchPolicy::default(),
//!     features: FeatureFlags::default(),
//!     toolchain: None,
//! };
//! let keys = KeyBuilder::new(&configuration)?; // once for each configuration
//! let program = Saxpy { elements: 16 };
//! let key = keys.key(&program); // once for each program
//!
//! let mut stored = HashMap::<PtxKey, (String, KeyTrace), KeyHasher>::default();
//! for _request in 0..2 {
//!     stored.entry(key).or_insert_with(|| ("the PTX".to_owned(), keys.trace(&program)));
//! }
//! assert_eq!(stored[&key].1.key(), key);
//! assert_ne!(keys.key(&Saxpy { elements: 64 }), key);
//! # Ok::<(), KeyError>(())
//! ```
//!
//! # Contents
//!
//! | question | answer |
//! | --- | --- |
//! | What is the program? | [`Identity`], [`Lanes`], [`ProgramDigests`] |
//! | What else reaches the emitter? | [`Configuration`]: [`Contract`], [`Target`], [`PtxIsa`], [`DispatchPolicy`], [`FeatureFlags`], [`Toolchain`] |
//! | What does an external compiler read? | [`Toolchain`], [`CompilerOption`], [`Digest`] |
//! | Which lowering is it? | [`KeyBuilder`], [`PtxKey`] |
//! | Why did a lookup miss? | [`KeyTrace`], [`Difference`] |
//! | Which assembled module is it? | [`JitConfiguration`], [`ModuleKey`] |
//!
//! A key is SHA-256 over an injective encoding of named fields. `ENCODING.md` specifies it. A key
//! is the same on every platform, in every process and in every release with the same version of
//! the encoding.
//!
//! # Limits
//!
//! This crate cannot see what a backend forgets to write: a global flag, an environment variable,
//! a header. The verify mode of `ptx-cache` finds such gaps. This crate stores nothing and reads
//! only the files that you ask it to digest.

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
pub use encoding::Lanes;
pub use error::KeyError;
pub use identity::{Identity, ProgramDigests};
pub use key::{DIGEST_BYTES, Digest, KeyHasher, ModuleKey, PtxKey};
pub use module::{Assembler, ComputeCapability, JitConfiguration, JitOptions};
pub use policy::{DispatchPolicy, Feature, FeatureFlags, NamedValue};
pub use target::{PtxIsa, Target, Variant};
pub use toolchain::Toolchain;
pub use trace::{Difference, KeyTrace};
