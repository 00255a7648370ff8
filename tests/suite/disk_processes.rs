//! Many processes share one store: each key is lowered once, and killing any of them at any
//! moment costs nothing but its own work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, SystemTime};

use ptx_disk::{Claim, Config, DiskStore, Entry, Load, Payload, Stored};
use ptx_key::{Digest, PtxKey};
use ptx_tests::Role;

const LOWERER: Role = Role::new("disk_processes::lowerer");
const VICTIM: Role = Role::new("disk_processes::victim");
const HOLDER: Role = Role::new("disk_processes::holder");

const KEYS: u32 = 40;

fn key(number: u32) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn text(number: u32) -> String {
    format!("// kernel {number}\n").repeat(200)
}

fn open(root: &Path) -> DiskStore {
    DiskStore::open(Config::new(root)).unwrap()
}

/// Whether the store has the entry. Anything but the right text ends the process.
fn has(store: &DiskStore, number: u32) -> bool {
    match store.load(key(number)) {
        Load::Hit(entry) => {
            assert_eq!(entry.payload, Payload::Ptx(text(number).into()), "wrong text");
            true
        }
        Load::Miss => false,
        other => panic!("{other:?}"),
    }
}

/// Loads, claims, lowers, stores; whether this process lowered.
fn get_or_lower(store: &DiskStore, number: u32) -> bool {
    if has(store, number) {
        return false;
    }
    match store.claim(key(number)) {
        Claim::Published(entry) => {
            assert_eq!(entry.payload, Payload::Ptx(text(number).into()), "wrong text");
            false
        }
        Claim::Unheld => panic!("waited for {number} in vain"),
        Claim::Held(_guard) => {
            std::thread::sleep(Duration::from_millis(1));
            let stored = store.store(key(number), &Entry::ptx(text(number), Duration::ZERO));
            assert!(matches!(stored, Stored::Published), "{stored:?}");
            true
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

/// The number behind `word`. The test harness may have begun the line.
fn number_in(line: &str, word: &str) -> Option<u32> {
    line.split_once(word)?.1.trim().parse().ok()
}

/// Waits until a process, which is to be killed, says `word`.
fn wait_for(child: &mut Child, word: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| number_in(&line.unwrap(), word).is_some()), "it ended early");
}

fn say(word: &str, number: u32) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word} {number}").unwrap();
    out.flush().unwrap();
}

/// Lowers every key of a store, in an order of its own.
#[test]
fn lowerer() {
    let Some(argument) = LOWERER.argument() else { return };
    let [process, keys, root] = *argument.splitn(3, ' ').collect::<Vec<_>>() else { return };
    let (process, keys) = (process.parse::<u32>().unwrap(), keys.parse::<u32>().unwrap());
    let store = open(Path::new(root));
    let lowered = (0..keys).filter(|n| get_or_lower(&store, (n + process * 7) % keys)).count();
    say("lowered", u32::try_from(lowered).unwrap());
}

#[test]
fn many_processes_lower_each_key_once() {
    lower_once(16, KEYS);
}

/// As many keys as the corpus has files.
#[test]
#[ignore = "takes long on few cores"]
fn as_many_processes_as_a_node_has_ranks_lower_each_key_once() {
    lower_once(64, 967);
}

fn lower_once(processes: u32, keys: u32) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let start = |process| {
        let argument = format!("{process} {keys} {}", root.display());
        LOWERER.command(&argument).unwrap().spawn().unwrap()
    };
    let children: Vec<Child> = (0..processes).map(start).collect();
    let mut lowered = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        lowered += said.lines().find_map(|line| number_in(line, "lowered")).unwrap();
    }
    assert_eq!(lowered, keys);
    assert!(files_below(&root.join("tmp")).is_empty());
}

/// Lowers and removes keys without end.
#[test]
fn victim() {
    let Some(root) = VICTIM.argument() else { return };
    let store = open(Path::new(&root));
    say("started", 0);
    for round in 0.. {
        let number = round % KEYS;
        get_or_lower(&store, number);
        if round % 3 == 0 {
            store.remove(key(number)).unwrap();
        }
    }
}

fn kill_process(child: &mut Child) -> ExitStatus {
    child.kill().unwrap();
    child.wait().unwrap()
}

/// Each victim is a whole process with its start, so a round costs tens of milliseconds.
#[test]
fn killing_writers_and_holders_at_any_moment_leaves_no_wrong_text_and_no_lock() {
    kill(100);
}

#[test]
#[ignore = "takes long on few cores"]
fn killing_a_thousand_times_is_as_harmless() {
    kill(1000);
}

fn kill(rounds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let store = open(&root);
    let mut delays = fastrand::Rng::with_seed(1);
    for round in 0..rounds {
        let mut victims: Vec<Child> = (0..2)
            .map(|_| VICTIM.command(&root.display().to_string()).unwrap().spawn().unwrap())
            .collect();
        for victim in &mut victims {
            wait_for(victim, "started");
        }
        // From the start of its work on, through a few hundred operations.
        std::thread::sleep(Duration::from_micros(delays.u64(0..8_000)));
        for victim in &mut victims {
            assert!(!kill_process(victim).success(), "a victim ended by itself in round {round}");
        }
        for number in 0..KEYS {
            let _ = has(&store, number);
            let claim = store.claim(key(number));
            assert!(!matches!(claim, Claim::Unheld), "a lock is left in round {round}");
        }
    }
    let statistics = store.statistics();
    assert_eq!((statistics.quarantined, statistics.claims_unheld), (0, 0));
    // A process leaves at most the one file that it was writing.
    let leftovers = files_below(&root.join("tmp"));
    assert!(leftovers.len() <= 2 * rounds as usize);
    for leftover in &leftovers {
        let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
        fs::File::open(leftover).unwrap().set_modified(long_ago).unwrap();
    }
    assert_eq!(store.sweep().unwrap(), leftovers.len() as u64);
    assert!(files_below(&root.join("tmp")).is_empty());
    assert!(files_below(&root.join("claims")).len() <= KEYS as usize);
}

/// Claims a key and dies with it.
#[test]
fn holder() {
    let Some(root) = HOLDER.argument() else { return };
    let store = open(Path::new(&root));
    let claim = store.claim(key(0));
    assert!(matches!(claim, Claim::Held(_)));
    say("held", 0);
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_waiter_takes_over_when_the_holder_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut holder = HOLDER.command(&root.display().to_string()).unwrap().spawn().unwrap();
    wait_for(&mut holder, "held");
    let store = open(&root);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| store.claim(key(0)));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished(), "the claim is held by another process");
        kill_process(&mut holder);
        assert!(matches!(waiter.join().unwrap(), Claim::Held(_)));
    });
}
