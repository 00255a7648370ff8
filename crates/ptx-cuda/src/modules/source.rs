//! Where a module came from.

use std::fmt;
use std::ops::Deref;

use super::module::Module;
use crate::Driver;

/// A module, and where it came from. Derefs to the module.
pub struct ServedModule<D: Driver> {
    /// The module.
    pub module: Module<D>,
    /// Where it came from.
    pub source: ModuleSource,
}

impl<D: Driver> Deref for ServedModule<D> {
    type Target = Module<D>;

    fn deref(&self) -> &Module<D> {
        &self.module
    }
}

impl<D: Driver> fmt::Debug for ServedModule<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, source } = self;
        f.debug_struct("ServedModule").field("module", module).field("source", source).finish()
    }
}

/// Where a module came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleSource {
    /// It was resident.
    Memory,
    /// Another thread loaded it, and this request waited.
    Coalesced,
    /// A stored cubin.
    Cubin,
    /// A text that this request assembled.
    Assembled,
    /// The caller's text or image, loaded as given.
    Given,
}
