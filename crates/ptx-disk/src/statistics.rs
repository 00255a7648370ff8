//! What has a store done since it was opened?

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter. It orders no other memory access.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.add_many(1);
    }

    pub(crate) fn add_many(&self, many: u64) {
        self.0.fetch_add(many, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Count,)*
        }

        /// What a store has done since this process opened it. Other processes count their own.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Statistics {
                Statistics { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Artifacts that loads and claims gave.
    hits,
    /// Hits in a read-only layer.
    layer_hits,
    /// Loads that gave no artifact, for any reason.
    misses,
    /// Entries that this process wrote.
    published,
    /// Entries that this process wrote over imported ones, which count as published too.
    replaced_imported,
    /// Writes that found the same content there already.
    already_there,
    /// Writes that found other content there, which stayed: two lowerings of one key disagree.
    conflicting,
    /// Loads and writes that found a file of a newer release, or one too large for this store's
    /// settings. The file stays.
    left_alone,
    /// Damaged files quarantined.
    quarantined,
    /// Loads and claims that the file system failed.
    read_failures,
    /// Writes and removals that the file system failed.
    write_failures,
    /// Times that failures turned reading or writing off for a while.
    degraded,
    /// Operations refused while reading or writing was off.
    refused,
    /// Entries removed because of the budget or their age.
    trimmed,
    /// Entries removed on request.
    removed,
    /// Claims held.
    claims_held,
    /// Claims without coordination: the store is off or read-only, the wait took as long as it
    /// may, or the file system failed.
    not_coordinated,
    /// Leftovers of dead processes removed.
    swept,
}
