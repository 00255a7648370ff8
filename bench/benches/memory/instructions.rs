//! How many instructions does a hit take? This figure has no noise.
//!
//! The bench runs itself under `valgrind --tool=callgrind` with N and with 2 N hits. The difference
//! divided by N is the count for one hit, without the set-up.

use std::hint::black_box;
use std::process::Command;

use ptx_bench::Report;

use crate::contenders::ours;
use crate::workload::{key, text};

/// The argument with which the bench runs itself for hits alone. A way and a count follow it.
pub(crate) const ARGUMENT: &str = "hits-alone";

const WAYS: [&str; 3] = ["owned", "borrowed", "pinned"];
const HITS: u64 = 20_000;
const ENTRIES: u64 = 512;

/// Does `count` hits in the named way, and nothing else.
pub(crate) fn hits_alone(way: &str, count: u64) {
    let cache = ours(2 * 512);
    let keys: Vec<_> = (0..ENTRIES).map(key).collect();
    for (number, key) in (0..).zip(&keys) {
        cache.insert(*key, ptx_cache::Computed::from(text(number)));
    }
    let wanted = keys.iter().cycle().zip(0..count).map(|(key, _)| key);
    match way {
        "owned" => wanted.for_each(|key| drop(black_box(cache.get(key)))),
        "borrowed" => wanted.for_each(|key| {
            black_box(cache.with(key, |text| text.len()));
        }),
        _ => {
            let pinned = cache.pin();
            wanted.for_each(|key| {
                black_box(pinned.get(key).map(|text| text.len()));
            });
        }
    }
}

/// Reports the instructions of a hit in each way, or why there is no figure.
pub(crate) fn report(report: &mut Report) {
    for way in WAYS {
        match (counted(way, HITS), counted(way, 2 * HITS)) {
            (Ok(once), Ok(twice)) => {
                let hit = twice.saturating_sub(once) / HITS;
                report.note(format!("instructions a hit, {way}: {hit}"));
            }
            (Err(reason), _) | (_, Err(reason)) => {
                report.note(format!("instructions a hit, {way}: skipped: {reason}"));
            }
        }
    }
}

fn counted(way: &str, hits: u64) -> Result<u64, String> {
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(myself)
        .args([ARGUMENT, way, &hits.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    collected
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing: {said}"))
}
