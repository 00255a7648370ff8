//! One entry as it lies in a table: key, value and what retention asks of it, in one cache line
//! for the 32-byte keys and fat pointers of the PTX cache.

use std::time::Duration;

use crate::policy::Usage;

const IN_LOWER_TIER: u32 = 1 << 31;

/// An entry. Written once, before it is published; only `usage` changes afterwards.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Slot<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
    pub(crate) usage: Usage,
    /// Variants of one program share the lower 31 bits. The top one says whether a tier beneath
    /// holds the value.
    family: u32,
    /// What making the value took, in microseconds, at most 71 minutes.
    pub(crate) cost_micros: u32,
    /// Seconds from the cache's start to this entry's.
    pub(crate) born_seconds: u32,
}

impl<K, V> Slot<K, V> {
    pub(crate) fn new(key: K, value: V, about: About, usage: Usage) -> Self {
        let cost_micros = u32::try_from(about.cost.as_micros()).unwrap_or(u32::MAX);
        Self {
            key,
            value,
            usage,
            family: about.family & !IN_LOWER_TIER
                | if about.in_lower_tier { IN_LOWER_TIER } else { 0 },
            cost_micros,
            born_seconds: about.born_seconds,
        }
    }

    /// Goes on counting the uses of the entry whose place this one takes.
    pub(crate) fn succeed(&mut self, before: &Self) {
        self.usage = before.usage.copy();
    }

    /// The same entry for another table, around bits of the same value.
    pub(crate) fn around<W>(&self, value: W) -> Slot<K, W>
    where
        K: Copy,
    {
        let &Self { key, ref usage, family, cost_micros, born_seconds, .. } = self;
        Slot { key, value, usage: usage.copy(), family, cost_micros, born_seconds }
    }

    /// This entry around what `wrap` makes of its value.
    pub(crate) fn map<W>(self, wrap: impl FnOnce(V) -> W) -> Slot<K, W> {
        let Self { key, value, usage, family, cost_micros, born_seconds } = self;
        Slot { key, value: wrap(value), usage, family, cost_micros, born_seconds }
    }

    pub(crate) fn cost(&self) -> Duration {
        Duration::from_micros(self.cost_micros.into())
    }

    pub(crate) fn family(&self) -> u32 {
        self.family & !IN_LOWER_TIER
    }

    pub(crate) fn in_lower_tier(&self) -> bool {
        self.family & IN_LOWER_TIER != 0
    }
}

/// What is known of an entry beside key and value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) cost: Duration,
    pub(crate) in_lower_tier: bool,
    pub(crate) family: u32,
    pub(crate) born_seconds: u32,
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
