//! The entries of a cache of modules: modules and permanent refusals, by context and key.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ptx_cache::{Cache, Weigh};
use ptx_key::ModuleKey;

use super::module::Module;
use super::room::EvictIdle;
use crate::{ContextId, CudaError, Driver, Refused};

pub(crate) type Residents<D> = Cache<ResidentKey, Outcome<D>>;

/// A module in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentKey {
    /// The context that the module is loaded into.
    pub context: ContextId,
    /// The module's key.
    pub module: ModuleKey,
}

impl Hash for ResidentKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The key is a digest: its bits stay uniform where the context is mixed in.
        let ContextId { device, serial } = self.context;
        let context = (u64::from(device) << 32 ^ serial).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state.write_u64(self.module.prefix() ^ context);
    }
}

/// The result of a load that is remembered.
pub(crate) enum Outcome<D: Driver> {
    Loaded(Module<D>),
    Refused(Arc<Refused>),
}

impl<D: Driver> Clone for Outcome<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Loaded(module) => Self::Loaded(module.clone()),
            Self::Refused(refused) => Self::Refused(Arc::clone(refused)),
        }
    }
}

impl<D: Driver> Outcome<D> {
    pub(crate) fn module(self) -> Result<Module<D>, CudaError> {
        match self {
            Self::Loaded(module) => Ok(module),
            Self::Refused(refused) => Err(CudaError::Refused(refused)),
        }
    }

    /// Returns true for a module that only the cache holds.
    fn is_idle(&self) -> bool {
        match self {
            Self::Loaded(module) => module.is_held_once(),
            Self::Refused(_) => false,
        }
    }
}

impl<D: Driver> Weigh for Outcome<D> {
    fn weight(&self) -> u64 {
        match self {
            Self::Loaded(module) => module.bytes(),
            Self::Refused(refused) => refused.log.text().len() as u64,
        }
    }
}

impl<D: Driver> EvictIdle for Residents<D> {
    fn evict_idle(&self, device: u32, bytes: u64) -> u64 {
        let is_idle = |key: &ResidentKey, outcome: &Outcome<D>| {
            key.context.device == device && outcome.is_idle()
        };
        self.evict_where(bytes, is_idle).entries
    }
}
