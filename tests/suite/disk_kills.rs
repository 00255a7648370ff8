//! Processes are killed at random moments, while others read: writers, trimmers and those who
//! lower for others. It costs nothing but their own work.
//!
//! `PTX_KILL_ROUNDS=1000` kills more often.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ptx_cache::{Artifact, Claim, PtxArtifact, Size, Store};
use ptx_disk::{Compression, Config, DiskStore, Times};
use ptx_key::{Digest, PtxKey};
use ptx_tests::Role;

const WRITER: Role = Role::new("disk_kills::writer");
const LEADER: Role = Role::new("disk_kills::leader");
const TRIMMER: Role = Role::new("disk_kills::trimmer");

/// A few keys, so that processes meet.
const KEYS: u32 = 60;
/// What a trimmer leaves of them.
const KEPT: u64 = 30;
/// The age at which a file that was never published counts as left behind.
const ABANDONED: Duration = Duration::from_secs(2);

fn key(number: u32) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn text(number: u32) -> String {
    format!("// kernel {number}\n.visible .entry k{number}() {{ ret; }}\n").repeat(100)
}

fn entry(number: u32) -> PtxArtifact {
    Artifact::from(text(number)).with_cost(Duration::from_millis(u64::from(number)))
}

fn open(root: &Path, entries: u64) -> DiskStore {
    let mut config = Config::new(root);
    config.budget = Size { entries, ..config.budget };
    config.times = Times { temporary: ABANDONED, ..Times::STANDARD };
    DiskStore::open(config).unwrap()
}

/// The number behind `word`. The test harness may have begun the line.
pub(crate) fn number_in(line: &str, word: &str) -> Option<u32> {
    line.split_once(word)?.1.trim().parse().ok()
}

/// Waits until a process, which is to be killed, says `word`.
pub(crate) fn wait_for(child: &mut Child, word: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| number_in(&line.unwrap(), word).is_some()), "it ended early");
}

pub(crate) fn say(word: &str, number: u32) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word} {number}").unwrap();
    out.flush().unwrap();
}

/// Stores and removes without end.
#[test]
fn writer() {
    let Some(root) = WRITER.argument() else { return };
    let store = open(Path::new(&root), u64::MAX);
    say("started", 0);
    loop {
        let number = fastrand::u32(..KEYS);
        let _ = store.store(&key(number), &entry(number));
        if fastrand::bool() {
            let _ = store.remove(&key(number));
        }
    }
}

/// Lowers for others, again and again.
#[test]
fn leader() {
    let Some(root) = LEADER.argument() else { return };
    let store = open(Path::new(&root), u64::MAX);
    say("started", 0);
    loop {
        let number = fastrand::u32(..KEYS);
        if let Ok(Claim::Held(_guard)) = store.claim(&key(number)) {
            std::thread::sleep(Duration::from_micros(fastrand::u64(..1000)));
            let _ = store.store(&key(number), &entry(number));
        }
    }
}

/// Trims, recompresses, sweeps without end.
#[test]
fn trimmer() {
    let Some(root) = TRIMMER.argument() else { return };
    let store = open(Path::new(&root), KEPT);
    say("started", 0);
    loop {
        store.recompress(Compression::Zstd { level: fastrand::i32(1..9) }).unwrap();
        store.trim().unwrap();
        store.sweep().unwrap();
    }
}

/// Loads every key; how many were there. Anything but the right text ends the test.
fn read_all(store: &DiskStore) -> u64 {
    let has = |number: &u32| match store.load(&key(*number)).unwrap() {
        Some(entry) => {
            assert_eq!(&*entry.payload, text(*number), "wrong text");
            true
        }
        None => false,
    };
    (0..KEYS).filter(has).count() as u64
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

/// Each victim is a whole process with its start, so a round costs tens of milliseconds.
#[test]
fn killing_at_any_moment_leaves_no_wrong_text_no_lock_and_no_leftovers() {
    let rounds = std::env::var("PTX_KILL_ROUNDS").map_or(40, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let store = open(&root, u64::MAX);
    let (done, hits) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut most_leftovers = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let reader = open(&root, u64::MAX);
            while !done.load(Ordering::Relaxed) {
                hits.fetch_add(read_all(&reader), Ordering::Relaxed);
            }
            assert_eq!(reader.statistics().quarantined, 0);
        });
        // Also where a round fails, so that the reader ends.
        let _done = EndsReaders(&done);
        for round in 0..rounds {
            let roles = [WRITER, LEADER, LEADER, TRIMMER];
            let mut victims = roles
                .map(|role| role.command(&root.display().to_string()).unwrap().spawn().unwrap());
            for victim in &mut victims {
                wait_for(victim, "started");
            }
            std::thread::sleep(Duration::from_micros(fastrand::u64(0..12_000)));
            fastrand::shuffle(&mut victims);
            for victim in &mut victims {
                victim.kill().unwrap();
                let status = victim.wait().unwrap();
                assert!(status.code().is_none(), "a victim ended by itself in round {round}");
            }
            for number in 0..KEYS {
                let claim = store.claim(&key(number)).unwrap();
                assert!(!matches!(claim, Claim::NotCoordinated), "a lock is left in round {round}");
            }
            most_leftovers = most_leftovers.max(files_below(&root.join("tmp")).len());
        }
    });
    let hits = hits.into_inner();
    println!("{rounds} rounds, {hits} entries read meanwhile, at most {most_leftovers} leftovers");
    assert!(hits > 0, "nothing was read");
    let statistics = store.statistics();
    assert_eq!((statistics.quarantined, statistics.not_coordinated), (0, 0));

    // What the next who write do by themselves.
    std::thread::sleep(ABANDONED);
    let _ = open(&root, u64::MAX).store(&key(KEYS), &entry(KEYS));
    assert_eq!(files_below(&root.join("tmp")), Vec::<PathBuf>::new());
    assert!(files_below(&root.join("claims")).len() <= KEYS as usize);
    open(&root, KEPT).trim().unwrap();
    assert!(store.keys().unwrap().len() as u64 <= KEPT, "exact, whatever the dead left uncounted");
    assert_eq!(store.verify().unwrap().damaged, 0);
}

struct EndsReaders<'a>(&'a AtomicBool);

impl Drop for EndsReaders<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
