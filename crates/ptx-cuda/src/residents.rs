//! What a cache of modules keeps: modules and lasting refusals, by context and key.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ptx_cache::{Cache, Weigh};
use ptx_key::ModuleKey;

use crate::{ContextId, CudaError, Driver, Module, Refused};

pub(crate) type Residents<D> = Cache<ResidentKey, Outcome<D>>;

/// Which module, where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentKey {
    /// The context that it is loaded into.
    pub context: ContextId,
    /// What it is.
    pub module: ModuleKey,
}

impl Hash for ResidentKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The key is a digest: mixing the context into its uniform bits keeps them uniform.
        let ContextId { device, serial } = self.context;
        let context = (u64::from(device) << 32 ^ serial).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state.write_u64(self.module.prefix() ^ context);
    }
}

/// What came of loading.
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

    /// Whether it is a module that nobody but the cache holds.
    pub(crate) fn is_idle(&self) -> bool {
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
