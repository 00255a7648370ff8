//! What goes into a cache, and what does a request return?

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use ptx_key::Digest;
use ptx_store::{Artifact, Payload};

/// A computed value, with its cost and family for retention.
#[derive(Clone, Debug)]
pub struct Computed<V> {
    /// The value.
    pub value: V,
    /// What computing it again would cost. `None` stands for the time that the leader took.
    pub cost: Option<Duration>,
    /// Whether a lower tier has it. The next miss then costs a load, as far as
    /// [`Cache::note_load`](crate::Cache::note_load) knows what a load takes.
    pub in_lower_tier: bool,
    /// The digest of the program's normalized lane. Variants of one program share it.
    pub family: Option<Digest>,
}

impl<V> From<V> for Computed<V> {
    /// A value without a family, which costs what the leader takes.
    fn from(value: V) -> Self {
        Self { value, cost: None, in_lower_tier: false, family: None }
    }
}

impl<P: Payload> Computed<Arc<Artifact<P>>> {
    /// An artifact with its cost and family. An unknown cost, zero, stays unknown.
    pub fn artifact(artifact: Artifact<P>, in_lower_tier: bool) -> Self {
        let cost = Some(artifact.cost).filter(|cost| !cost.is_zero());
        let family = artifact.family;
        Self { value: Arc::new(artifact), cost, in_lower_tier, family }
    }
}

/// Where an answer came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was in memory.
    Memory,
    /// This request waited for another thread or task, which computed or loaded it.
    Shared,
    /// The tier of this name had it.
    Tier(Arc<str>),
    /// This request computed it: it lowered, assembled, or loaded the module.
    Computed,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Memory => "memory",
            Self::Shared => "shared",
            Self::Tier(name) => name,
            Self::Computed => "computed",
        })
    }
}

/// An answer: a value, and where it came from. Derefs to the value.
#[derive(Clone, Debug)]
pub struct Served<V> {
    /// The value.
    pub value: V,
    /// Where it came from.
    pub source: Source,
}

impl<V> Deref for Served<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}
