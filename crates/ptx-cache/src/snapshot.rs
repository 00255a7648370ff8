//! What did the cache do, and what does it hold?

use std::time::Duration;

use ptx_store::Size;

/// Counts of a cache at one moment, since its start or the last `clear`. Exact when no call is
/// under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// What is resident now.
    pub resident: Size,
    /// Requests served from memory.
    pub hits: u64,
    /// Requests that memory could not serve: `computed + shared + failed`, and look-ups that found
    /// nothing.
    pub misses: u64,
    /// What computing the values had cost that memory served, once a hit. To the microsecond.
    pub saved: Duration,
    /// Values published by a leader: lowered, or loaded from a lower tier.
    pub computed: u64,
    /// Requests that got the value of another leader.
    pub shared: u64,
    /// Requests that wait for another leader at this moment.
    pub waiting: u64,
    /// Requests that ended in an error, those that waited for another leader included.
    pub failed: u64,
    /// Requests among them that got a remembered failure: nothing was computed.
    pub recalled_failures: u64,
    /// What was evicted to make room.
    pub evicted: Size,
    /// Values that were served and not kept: each alone exceeds the budget, found no room, or came
    /// back and was worth less than its victims.
    pub not_kept: u64,
    /// Bytes of the index itself: tables and slots, without the values.
    pub index_bytes: u64,
}

/// One resident entry, as [`Cache::entries`](crate::Cache::entries) lists it.
#[derive(Clone, Debug)]
pub struct EntryReport<K> {
    /// The key.
    pub key: K,
    /// Its bytes, as [`Weigh`](crate::Weigh) counts them.
    pub bytes: u64,
    /// How often it was asked for, also before it was last evicted as far as that is remembered.
    /// Exact up to eight, an estimate above, at most 64.
    pub uses: u32,
    /// How long it has been resident, to the second.
    pub age: Duration,
    /// What computing it took.
    pub cost: Duration,
}
