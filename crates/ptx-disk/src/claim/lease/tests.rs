use super::*;
use crate::storage::{FaultyStorage, MemoryStorage, Operation};
use ptx_store::Kind;

/// Long enough that a busy machine never takes a living holder for dead.
const LASTS: Duration = Duration::from_secs(1);

struct Fixture {
    memory: MemoryStorage,
    storage: Arc<dyn Storage>,
    layout: Layout,
    key: EntryKey,
}

fn fixture() -> Fixture {
    let memory = MemoryStorage::new();
    Fixture {
        storage: Arc::new(memory.clone()),
        memory,
        layout: Layout::new(PathBuf::from("/store")),
        key: EntryKey::from_bytes(Kind::Ptx, [1; 32]),
    }
}

impl Fixture {
    fn attempt(&self, watch: &mut Watch) -> Option<Lease> {
        try_lease(&self.storage, &self.layout, &self.key, LASTS, watch).unwrap()
    }

    fn attempt_until_held(&self, watch: &mut Watch) -> Lease {
        loop {
            if let Some(lease) = self.attempt(watch) {
                return lease;
            }
            thread::sleep(LASTS / 20);
        }
    }
}

#[test]
fn one_holder_at_a_time_leaves_nothing() {
    let fixture = fixture();
    let held = fixture.attempt(&mut Watch::default());
    assert!(held.is_some());
    assert!(fixture.attempt(&mut Watch::default()).is_none());
    drop(held);
    assert!(fixture.memory.files().is_empty());
    assert!(fixture.attempt(&mut Watch::default()).is_some());
}

#[test]
fn a_lease_that_its_holder_touches_is_never_taken() {
    let fixture = fixture();
    let held = fixture.attempt(&mut Watch::default());
    let (mut watch, start) = (Watch::default(), Instant::now());
    while start.elapsed() < LASTS * 2 {
        assert!(fixture.attempt(&mut watch).is_none());
        thread::sleep(LASTS / 20);
    }
    drop(held);
}

#[test]
fn the_lease_of_the_dead_is_taken_over() {
    let fixture = fixture();
    let path = fixture.layout.lease(&fixture.key);
    create_parents_of(&fixture.memory, &fixture.layout, &path).unwrap();
    drop(fixture.memory.create_file(&path).unwrap());
    let lease = fixture.attempt_until_held(&mut Watch::default());
    drop(lease);
    assert!(fixture.memory.files().is_empty());
}

#[test]
fn a_new_lease_taken_away_by_mistake_comes_back() {
    let fixture = fixture();
    let path = fixture.layout.lease(&fixture.key);
    let lease = fixture.attempt(&mut Watch::default()).unwrap();
    // A waiter that still remembers the dead lease which was here before.
    let mut watch = Watch(Some(Seen {
        identity: FileIdentity { device: 9, inode: 9 },
        modified: SystemTime::UNIX_EPOCH,
        last_look: Instant::now(),
        unchanged: LASTS,
    }));
    break_lease(&fixture.memory, &fixture.layout, &path, &mut watch).unwrap();
    assert!(fixture.attempt(&mut Watch::default()).is_none(), "it is still held");
    drop(lease);
    assert!(fixture.memory.files().is_empty());
}

#[test]
fn a_holder_that_lost_its_lease_does_not_remove_the_next_one() {
    let fixture = fixture();
    let path = fixture.layout.lease(&fixture.key);
    let first = fixture.attempt(&mut Watch::default()).unwrap();
    fixture.memory.remove_file(&path).unwrap();
    let second = fixture.attempt(&mut Watch::default()).unwrap();
    drop(first);
    assert!(fixture.memory.files().contains_key(&path));
    drop(second);
}

#[test]
fn a_waiter_that_was_stopped_does_not_take_the_lease_of_a_holder_that_was_stopped_with_it() {
    let fixture = fixture();
    let path = fixture.layout.lease(&fixture.key);
    create_parents_of(&fixture.memory, &fixture.layout, &path).unwrap();
    drop(fixture.memory.create_file(&path).unwrap());
    let lasts = Duration::from_millis(30);
    let mut watch = Watch::default();
    let mut is_dead = || watch.is_dead(&fixture.memory, &path, lasts).unwrap();
    assert!(!is_dead());
    thread::sleep(lasts * 3);
    assert!(!is_dead(), "the holder had no time to give a sign of life");
    for _ in 0..HEARTBEATS {
        thread::sleep(lasts / HEARTBEATS);
        if is_dead() {
            return;
        }
    }
    panic!("it was watched for long enough");
}

#[test]
fn a_new_lease_that_got_the_number_of_the_dead_one_comes_back() {
    let fixture = fixture();
    let path = fixture.layout.lease(&fixture.key);
    let lease = fixture.attempt(&mut Watch::default()).unwrap();
    let identity = fixture.memory.metadata(&path).unwrap().identity;
    let (modified, last_look) = (SystemTime::UNIX_EPOCH, Instant::now());
    let mut watch = Watch(Some(Seen { identity, modified, last_look, unchanged: LASTS }));
    break_lease(&fixture.memory, &fixture.layout, &path, &mut watch).unwrap();
    assert!(fixture.memory.files().contains_key(&path), "it is still held");
    drop(lease);
}

#[test]
fn a_lease_that_cannot_be_held_is_not_left_behind() {
    let fixture = fixture();
    let faulty = FaultyStorage::new(Arc::new(fixture.memory.clone()), |operation| {
        (operation == Operation::FileMetadata).then(|| io::Error::from_raw_os_error(5))
    });
    let storage: Arc<dyn Storage> = Arc::new(faulty);
    let held = try_lease(&storage, &fixture.layout, &fixture.key, LASTS, &mut Watch::default());
    assert!(held.is_err());
    assert!(fixture.memory.files().is_empty());
}
