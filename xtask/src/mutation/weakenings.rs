//! Which code of the memory cache must no loom model accept in a weaker form?

/// An edit of code that its file contains.
pub(super) struct Weakening {
    pub(super) name: &'static str,
    pub(super) code: &'static str,
    pub(super) weakened: &'static str,
}

/// The edits of one file.
type Weakenings = (&'static str, &'static [Weakening]);

pub(super) const WEAKENINGS: [Weakenings; 5] = [
    (
        "crates/ptx-cache/src/table/hash_table.rs",
        &[
            Weakening {
                name: "publish: Release store to Relaxed",
                code: "store(tagged, Ordering::Release)",
                weakened: "store(tagged, Ordering::Relaxed)",
            },
            Weakening {
                name: "find: Acquire load to Relaxed",
                code: "let word = self.word(group).load(Ordering::Acquire);",
                weakened: "let word = self.word(group).load(Ordering::Relaxed);",
            },
            Weakening {
                name: "remove: Release store to Relaxed",
                code: "position, DEAD), Ordering::Release",
                weakened: "position, DEAD), Ordering::Relaxed",
            },
        ],
    ),
    (
        "crates/ptx-cache/src/table/shard.rs",
        &[
            Weakening {
                name: "table swap: AcqRel to Relaxed",
                code: "Ordering::AcqRel",
                weakened: "Ordering::Relaxed",
            },
            Weakening {
                name: "table load: Acquire to Relaxed",
                code: "self.table.load(Ordering::Acquire, guard)",
                weakened: "self.table.load(Ordering::Relaxed, guard)",
            },
            Weakening {
                name: "remove: the value is dropped at once",
                code: "guard.defer(move || drop(value));\n        Some(slot)",
                weakened: "drop(value);\n        Some(slot)",
            },
            Weakening {
                name: "replace: the old value is dropped at once",
                code: "guard.defer(move || drop(value));\n        }\n        Ok(())",
                weakened: "drop(value);\n        }\n        Ok(())",
            },
            Weakening {
                name: "the old table is freed at once",
                code: "unsafe { guard.defer_unchecked(free) };",
                weakened: "free();",
            },
        ],
    ),
    (
        "crates/ptx-cache/src/flight/flights.rs",
        &[
            Weakening {
                name: "join: no second look in the table",
                code: "if let Some(value) = published() {",
                weakened: "if let Some(value) = published().filter(|_| false) {",
            },
            Weakening {
                name: "a landed flight reports no result",
                code: "let ending = self.result.take().map_or(Ending::Abandoned, Ending::Landed);",
                weakened: "self.result = None; let ending = Ending::Abandoned;",
            },
            Weakening {
                name: "a flight never ends",
                code: "state.ending = Some(ending);",
                weakened: "drop(ending);",
            },
            Weakening {
                name: "an ended flight stays registered",
                code: "lock(&self.flights.aloft).retain(|_, other| !Arc::ptr_eq(other, &self.flight));",
                weakened: "",
            },
            Weakening {
                name: "the end of a flight wakes no waiter",
                code: "self.flight.ended.notify_all();",
                weakened: "",
            },
        ],
    ),
    (
        "crates/ptx-cache/src/flight/waits.rs",
        &[
            Weakening {
                name: "a thread does not know what it computes",
                code: "running.borrow_mut().push(computation)",
                weakened: "drop(computation)",
            },
            Weakening {
                name: "a deadlock is not refused",
                code: "return Err(CacheError::Deadlock);",
                weakened: "break;",
            },
        ],
    ),
    (
        "crates/ptx-cache/src/accounting.rs",
        &[
            Weakening {
                name: "reserve: load and store",
                code: "self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()",
                weakened: "fits(self.0.load(Ordering::Relaxed)).map(|n| self.0.store(n, Ordering::Relaxed)).is_some()",
            },
            Weakening {
                name: "release: load and store",
                code: "self.0.fetch_sub(pack(Size { entries: 1, bytes: weight }), Ordering::Relaxed);",
                weakened: "let n = self.0.load(Ordering::Relaxed); self.0.store(n - pack(Size { entries: 1, bytes: weight }), Ordering::Relaxed);",
            },
        ],
    ),
];
