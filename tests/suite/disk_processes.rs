//! Many processes share one store: each key is lowered once, with locks and without.
//!
//! `PTX_PROCESSES=64` runs as many processes as a node has ranks, on every key of the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use ptx_cache::{Artifact, Claim, PtxArtifact, Store, Stored};
use ptx_disk::storage::{FaultyStorage, Operation, OsStorage};
use ptx_disk::{Config, DiskStore};
use ptx_key::{Digest, PtxKey};
use ptx_tests::{Corpus, Role};

const LOWERER: Role = Role::new("disk_processes::lowerer");
const HOLDER: Role = Role::new("disk_processes::holder");

/// What a lowering takes at least.
const LOWERING: Duration = Duration::from_millis(5);

/// A store of one's own process. Without locks claims are leases.
fn open(root: &Path, locks: bool) -> DiskStore {
    let storage = FaultyStorage::new(Arc::new(OsStorage::new()), move |operation| {
        let fails = !locks && operation == Operation::TryLock;
        fails.then(|| std::io::ErrorKind::Unsupported.into())
    });
    DiskStore::open_on(Arc::new(storage), Config::new(root)).unwrap()
}

/// Texts in files named by their keys: the corpus, or something like it.
fn write_programs(folder: &Path, most: usize) -> u32 {
    fs::create_dir(folder).unwrap();
    let texts: Vec<Arc<str>> = match Corpus::find() {
        Some(corpus) => corpus.ptx_files().unwrap().into_iter().map(|file| file.text).collect(),
        None => (0..967).map(|n| format!("// kernel {n}\n").repeat(200).into()).collect(),
    };
    let texts = &texts[..most.min(texts.len())];
    for text in texts {
        fs::write(folder.join(Digest::of_bytes(text.as_bytes()).to_string()), &**text).unwrap();
    }
    u32::try_from(texts.len()).unwrap()
}

fn programs(folder: &Path) -> BTreeMap<PtxKey, PathBuf> {
    let program = |path: PathBuf| (path.file_name()?.to_str()?.parse().ok()).map(|key| (key, path));
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter_map(program).collect()
}

fn right_text(entry: &PtxArtifact, program: &Path) {
    assert!(*entry.payload == *fs::read_to_string(program).unwrap(), "wrong text");
}

/// Loads, claims, lowers, stores; whether this process lowered.
fn get_or_lower(store: &DiskStore, key: PtxKey, program: &Path) -> bool {
    if let Some(entry) = store.load(&key).unwrap() {
        right_text(&entry, program);
        return false;
    }
    match store.claim(&key).unwrap() {
        Claim::Published(entry) => {
            right_text(&entry, program);
            false
        }
        Claim::NotCoordinated => panic!("waited for {key} in vain"),
        Claim::Held(_guard) => {
            std::thread::sleep(LOWERING);
            let text = fs::read_to_string(program).unwrap();
            let stored = store.store(&key, &Artifact::from(text).with_cost(LOWERING));
            assert!(matches!(stored, Ok(Stored::Written | Stored::Present)), "{stored:?}");
            true
        }
    }
}

/// Lowers every program of a folder, in an order of its own.
#[test]
fn lowerer() {
    let Some(argument) = LOWERER.argument() else { return };
    let [process, locks, root] = *argument.splitn(3, ' ').collect::<Vec<_>>() else { return };
    let root = Path::new(root);
    let store = open(&root.join("store"), locks == "locks");
    let mut programs: Vec<_> = programs(&root.join("programs")).into_iter().collect();
    let first = process.parse::<usize>().unwrap() * 7 % programs.len();
    programs.rotate_left(first);
    let lowered = programs.iter().filter(|(key, path)| get_or_lower(&store, *key, path)).count();
    crate::disk_kills::say("lowered", u32::try_from(lowered).unwrap());
}

/// How many keys there were, and how many lowerings.
fn lower_once(locks: &str) -> (u32, u32) {
    let asked = std::env::var("PTX_PROCESSES").ok().map(|count| count.parse::<u32>().unwrap());
    let (processes, most) = asked.map_or((12, 40), |count| (count, usize::MAX));
    let folder = tempfile::tempdir().unwrap();
    let keys = write_programs(&folder.path().join("programs"), most);
    let start = |process| {
        let argument = format!("{process} {locks} {}", folder.path().display());
        LOWERER.command(&argument).unwrap().spawn().unwrap()
    };
    let children: Vec<Child> = (0..processes).map(start).collect();
    let mut lowered = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        lowered +=
            said.lines().find_map(|line| crate::disk_kills::number_in(line, "lowered")).unwrap();
    }
    let left = fs::read_dir(folder.path().join("store/tmp")).unwrap().count();
    assert_eq!(left, 0, "files that were never published");
    println!("{processes} processes with {locks}, {keys} keys: {lowered} lowerings");
    (keys, lowered)
}

#[test]
fn many_processes_lower_each_key_once() {
    let (keys, lowered) = lower_once("locks");
    assert_eq!(lowered, keys);
}

#[test]
fn without_locks_hardly_any_key_is_lowered_twice() {
    let (keys, lowered) = lower_once("leases");
    assert!((keys..=keys + keys.div_ceil(100)).contains(&lowered), "{lowered} for {keys}");
}

fn some_key() -> PtxKey {
    PtxKey::from_bytes([1; 32])
}

/// Claims a key and dies with it.
#[test]
fn holder() {
    let Some(root) = HOLDER.argument() else { return };
    let store = open(Path::new(&root), true);
    let claim = store.claim(&some_key());
    assert!(matches!(claim, Ok(Claim::Held(_))));
    crate::disk_kills::say("held", 0);
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_waiter_takes_over_when_the_holder_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut holder = HOLDER.command(&root.display().to_string()).unwrap().spawn().unwrap();
    crate::disk_kills::wait_for(&mut holder, "held");
    let store = open(&root, true);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| store.claim(&some_key()));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished(), "the claim is held by another process");
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(matches!(waiter.join().unwrap(), Ok(Claim::Held(_))));
    });
}
