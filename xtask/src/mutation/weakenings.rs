//! Weakenings of the memory cache that its loom models must notice.

/// One edit of a file of `ptx-cache`.
pub(super) struct Weakening {
    /// What it does.
    pub(super) name: &'static str,
    /// The file, below the crate's `src`.
    pub(super) file: &'static str,
    /// The code, which stands there.
    pub(super) code: &'static str,
    /// What takes its place.
    pub(super) weakened: &'static str,
}

pub(super) const WEAKENINGS: [Weakening; 17] = [
    Weakening {
        name: "publish: Release store to Relaxed",
        file: "table.rs",
        code: "store(tagged, Ordering::Release)",
        weakened: "store(tagged, Ordering::Relaxed)",
    },
    Weakening {
        name: "find: Acquire load to Relaxed",
        file: "table.rs",
        code: "let word = self.word(group).load(Ordering::Acquire);",
        weakened: "let word = self.word(group).load(Ordering::Relaxed);",
    },
    Weakening {
        name: "take: Release store to Relaxed",
        file: "table.rs",
        code: "position, DEAD), Ordering::Release",
        weakened: "position, DEAD), Ordering::Relaxed",
    },
    Weakening {
        name: "table swap: AcqRel to Relaxed",
        file: "shard.rs",
        code: "Ordering::AcqRel",
        weakened: "Ordering::Relaxed",
    },
    Weakening {
        name: "table load: Acquire to Relaxed",
        file: "shard.rs",
        code: "self.table.load(Ordering::Acquire, guard)",
        weakened: "self.table.load(Ordering::Relaxed, guard)",
    },
    Weakening {
        name: "remove: dropped at once",
        file: "shard.rs",
        code: "guard.defer(move || drop(value));\n        Some(slot)",
        weakened: "drop(value);\n        Some(slot)",
    },
    Weakening {
        name: "replace: dropped at once",
        file: "shard.rs",
        code: "guard.defer(move || drop(value));\n        }\n        Ok(())",
        weakened: "drop(value);\n        }\n        Ok(())",
    },
    Weakening {
        name: "old table freed at once",
        file: "shard.rs",
        code: "unsafe { guard.defer_unchecked(free) };",
        weakened: "free();",
    },
    Weakening {
        name: "join: no second look",
        file: "flight.rs",
        code: "if let Some(value) = published() {",
        weakened: "if let Some(value) = published().filter(|_| false) {",
    },
    Weakening {
        name: "a leader that panics abandons its flight",
        file: "flight.rs",
        code: "(None, true) => End::Landed(Err(CacheError::Panicked)),",
        weakened: "(None, true) => End::Abandoned,",
    },
    Weakening {
        name: "a flight has no end",
        file: "flight.rs",
        code: "state.end = Some(end);",
        weakened: "drop(end);",
    },
    Weakening {
        name: "an ended flight stays aloft",
        file: "flight.rs",
        code: "lock(&self.flights.aloft).remove(&self.key);",
        weakened: "",
    },
    Weakening {
        name: "the end of a flight wakes nobody",
        file: "flight.rs",
        code: "self.flight.ended.notify_all();",
        weakened: "",
    },
    Weakening {
        name: "a making does not run in its thread",
        file: "waits.rs",
        code: "before: replace_running(Some(Arc::clone(self)))",
        weakened: "before: None",
    },
    Weakening {
        name: "circles are not refused",
        file: "waits.rs",
        code: "return Err(Refusal::Circle);",
        weakened: "break;",
    },
    Weakening {
        name: "reserve: load and store",
        file: "accounting.rs",
        code: "self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()",
        weakened: "fits(self.0.load(Ordering::Relaxed)).map(|n| self.0.store(n, Ordering::Relaxed)).is_some()",
    },
    Weakening {
        name: "release: load and store",
        file: "accounting.rs",
        code: "self.0.fetch_sub(pack(Resident { entries: 1, bytes: weight }), Ordering::Relaxed);",
        weakened: "let n = self.0.load(Ordering::Relaxed); self.0.store(n - pack(Resident { entries: 1, bytes: weight }), Ordering::Relaxed);",
    },
];
