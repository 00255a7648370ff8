//! What the cache says of itself.

use std::time::Duration;

use crate::Resident;

/// Counts of a cache at one moment, since its start or the last `clear`. Exact when no call is
/// under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// What is resident now.
    pub resident: Resident,
    /// Requests served from memory.
    pub hits: u64,
    /// Requests that memory could not serve: `made + coalesced + failed`, and lookups without a
    /// maker that found nothing.
    pub misses: u64,
    /// What making the values had cost that were then served from memory, once a hit. To the
    /// microsecond.
    pub saved: Duration,
    /// Values made: lowered, or loaded from a tier beneath.
    pub made: u64,
    /// Requests that got what another thread was making already.
    pub coalesced: u64,
    /// Requests that wait for another's making at this moment.
    pub waiting: u64,
    /// Requests that ended in an error, those that waited for another's included.
    pub failed: u64,
    /// Those among them that got an earlier failure again, with no making tried.
    pub recalled_failures: u64,
    /// Entries retired to make room.
    pub evicted_entries: u64,
    /// Their bytes.
    pub evicted_bytes: u64,
    /// Values that were served and not kept: each alone exceeds the budget, found no room in it, or
    /// came back and was worth less than those that would have had to go for it.
    pub not_kept: u64,
    /// Bytes of the index itself: tables and slots, without the values.
    pub index_bytes: u64,
}

/// One resident entry, as [`Cache::entries`](crate::Cache::entries) lists it.
#[derive(Clone, Debug)]
pub struct EntryReport<K> {
    /// The key.
    pub key: K,
    /// What it weighs, in bytes.
    pub bytes: u64,
    /// How often it was asked for, also before it was last retired as far as that is remembered.
    /// Exact up to eight, an estimate above, and at most 64.
    pub uses: u32,
    /// How long it has been resident, to the second.
    pub age: Duration,
    /// What making it took.
    pub cost: Duration,
}
