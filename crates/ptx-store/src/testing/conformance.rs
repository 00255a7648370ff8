//! What every store promises, as a suite that any implementor runs in one line.

use std::sync::Arc;
use std::time::Duration;

use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, FeatureFlags, KeyBuilder, KeyTrace, ModuleKey,
    ProgramDigests, PtxKey,
};

use crate::{
    Artifact, ArtifactKey, Attributes, Claim, CubinArtifact, EntryName, LaunchShape, Payload as _,
    PtxArtifact, Store, Stored,
};

/// Keys of which the suite can make samples.
pub trait SampleKey: ArtifactKey {
    /// A key for each number.
    fn sample_key(number: u8) -> Self;

    /// An artifact for each number, with a trace and attributes of every shape.
    fn sample_artifact(number: u8) -> Artifact<Self::Payload>;
}

impl SampleKey for PtxKey {
    fn sample_key(number: u8) -> Self {
        Self::from_bytes(*Digest::of_bytes(&[number]).as_bytes())
    }

    fn sample_artifact(number: u8) -> PtxArtifact {
        furnished(Artifact::from(format!(".version 8.0\n.target sm_90\n// {number}\n")), number)
    }
}

impl SampleKey for ModuleKey {
    fn sample_key(number: u8) -> Self {
        Self::from_bytes(*Digest::of_bytes(&[number]).as_bytes())
    }

    fn sample_artifact(number: u8) -> CubinArtifact {
        furnished(Artifact::new([b"\x7fELF\0\xff".as_slice(), &[number]].concat()), number)
    }
}

fn furnished<P>(artifact: Artifact<P>, number: u8) -> Artifact<P> {
    let mut artifact = Artifact {
        cost: Duration::from_nanos(1_234_567 + u64::from(number)),
        family: Some(Digest::of_bytes(b"family")),
        trace: sample_trace().map(Arc::new),
        ..artifact
    };
    let attributes = &mut artifact.attributes;
    let (asked, emitted) = (format!("add<{number}>"), format!("_Z3add{number}"));
    attributes.set_entry_names(&[EntryName { asked, emitted }]);
    attributes.set_launch_shape(LaunchShape { grid: [0; 3], block: [128, number.into(), 1] });
    attributes.set_shared_bytes(1024);
    attributes.set(Attributes::TARGET, "sm_90a");
    attributes.set(Attributes::LOG, "warning: 1\n");
    attributes.set("back-end/raw", [0, 0xff, number]);
    artifact
}

/// The trace of some key. A store keeps all of it.
fn sample_trace() -> Option<KeyTrace> {
    let configuration = Configuration {
        contract: Contract::new("ptx-store", 1),
        target: "sm_90a".parse().ok()?,
        isa: "8.0".parse().ok()?,
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::default(),
        toolchain: None,
    };
    let program =
        ProgramDigests { normalized: Digest::of_bytes(b"1"), exact: Some(Digest::of_bytes(b"2")) };
    Some(KeyBuilder::new(&configuration).ok()?.trace(program))
}

/// Runs every check on stores that `open` gives. Each must be empty, keep what it is given, and
/// share nothing with the one before.
///
/// ```
/// use ptx_key::{ModuleKey, PtxKey};
/// use ptx_store::testing::{MapStore, check_store};
///
/// check_store::<PtxKey, _>(|| MapStore::named("texts"));
/// check_store::<ModuleKey, _>(|| MapStore::named("cubins"));
/// ```
///
/// # Panics
///
/// Where the store breaks a promise of [`Store`]; the message says which.
pub fn check_store<K: SampleKey, S: Store<K>>(mut open: impl FnMut() -> S) {
    returns_what_was_stored(&open());
    keeps_keys_apart(&open());
    removes(&open());
    removes_only_the_payload_that_was_named(&open());
    coordinates_or_says_that_it_does_not(&open());
    keeps_whole_artifacts_under_concurrent_writers(&Arc::new(open()));
}

fn returns_what_was_stored<K: SampleKey>(store: &impl Store<K>) {
    assert!(!store.name().is_empty(), "a store has a name");
    assert!(store.is_writable(), "a store under test keeps what it is given");
    let (key, artifact) = (K::sample_key(1), K::sample_artifact(1));
    assert!(artifact.trace.is_some(), "the sample has a trace");
    assert_eq!(load(store, &key), None, "a new store is empty");
    assert_eq!(write(store, &key, &artifact), Stored::Written);
    assert_same(&load(store, &key).unwrap_or_else(|| missing()), &artifact);
    assert_same(&load(store, &key).unwrap_or_else(|| missing()), &artifact);
    // Storing the same again changes nothing, whether the store writes it or keeps what it has.
    write(store, &key, &artifact);
    assert_same(&load(store, &key).unwrap_or_else(|| missing()), &artifact);
    let bare = Artifact { cost: Duration::from_nanos(1), ..Artifact::new(artifact.payload) };
    let key = K::sample_key(2);
    write(store, &key, &bare);
    assert_same(&load(store, &key).unwrap_or_else(|| missing()), &bare);
}

fn keeps_keys_apart<K: SampleKey>(store: &impl Store<K>) {
    (0..32).for_each(|number| {
        write(store, &K::sample_key(number), &K::sample_artifact(number));
    });
    for number in 0..32 {
        let found = load(store, &K::sample_key(number)).unwrap_or_else(|| missing());
        assert_same(&found, &K::sample_artifact(number));
    }
    assert_eq!(load(store, &K::sample_key(32)), None, "a key that nobody stored is a miss");
}

fn removes<K: SampleKey>(store: &impl Store<K>) {
    let (key, other) = (K::sample_key(1), K::sample_key(2));
    assert!(!remove(store, &key), "what is absent is not removed");
    write(store, &key, &K::sample_artifact(1));
    write(store, &other, &K::sample_artifact(2));
    assert!(remove(store, &key), "what is present is removed");
    assert_eq!(load(store, &key), None, "what was removed is a miss");
    assert!(!remove(store, &key), "what was removed is absent");
    assert!(load(store, &other).is_some(), "removing one key removes no other");
    write(store, &key, &K::sample_artifact(3));
    assert_same(&load(store, &key).unwrap_or_else(|| missing()), &K::sample_artifact(3));
}

fn removes_only_the_payload_that_was_named<K: SampleKey>(store: &impl Store<K>) {
    let (key, artifact) = (K::sample_key(1), K::sample_artifact(1));
    let remove_if = |payload: &[u8]| {
        let removed = store.remove_if_payload(&key, payload);
        removed.unwrap_or_else(|error| failed("remove", &*error))
    };
    assert!(!remove_if(artifact.payload.as_bytes()), "what is absent is not removed");
    write(store, &key, &artifact);
    assert!(!remove_if(b"another payload"), "another payload stays");
    assert!(load(store, &key).is_some(), "another payload stays");
    assert!(remove_if(artifact.payload.as_bytes()), "the payload that was named is removed");
    assert_eq!(load(store, &key), None, "the payload that was named is removed");
}

fn coordinates_or_says_that_it_does_not<K: SampleKey>(store: &impl Store<K>) {
    let (key, artifact) = (K::sample_key(1), K::sample_artifact(1));
    let held = match claim(store, &key) {
        Claim::NotCoordinated => return,
        Claim::Published(_) => panic!("an empty store has published nothing"),
        Claim::Held(held) => held,
    };
    // A claim on one key keeps nobody from another.
    assert!(matches!(claim(store, &K::sample_key(2)), Claim::Held(_)));
    write(store, &key, &artifact);
    drop(held);
    match claim(store, &key) {
        Claim::Published(found) => assert_same(&found, &artifact),
        other => panic!("after the holder published, a claim gives the artifact, not {other:?}"),
    }
    assert!(remove(store, &key));
    // A claim that was dropped without a result holds nobody up.
    drop(claim(store, &key));
    assert!(matches!(claim(store, &key), Claim::Held(_)), "a dropped claim is released");
}

fn keeps_whole_artifacts_under_concurrent_writers<K: SampleKey>(store: &Arc<impl Store<K>>) {
    const WRITERS: u8 = 4;
    let key = K::sample_key(1);
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            scope.spawn(move || {
                (0..16).for_each(|_| {
                    write(&**store, &key, &K::sample_artifact(number));
                });
            });
            scope.spawn(move || {
                for _ in 0..64 {
                    if let Some(found) = load(&**store, &key) {
                        let known = (0..WRITERS).map(K::sample_artifact);
                        let payloads: Vec<K::Payload> = known.map(|one| one.payload).collect();
                        assert!(payloads.contains(&found.payload), "a load sees a whole artifact");
                    }
                }
            });
        }
    });
    assert!(load(&**store, &key).is_some(), "one of the writers wins");
}

/// Compares all that a store must keep. A store may add attributes, such as when it wrote.
fn assert_same<P: crate::Payload>(found: &Artifact<P>, stored: &Artifact<P>) {
    assert_eq!(found.payload, stored.payload, "the payload comes back byte for byte");
    assert_eq!(found.cost, stored.cost, "the cost comes back to the nanosecond");
    assert_eq!(found.family, stored.family, "the family comes back");
    assert_eq!(found.trace, stored.trace, "the trace comes back");
    for (name, value) in stored.attributes.iter() {
        assert_eq!(found.attributes.get(name), Some(&**value), "the attribute `{name}` comes back");
    }
}

fn load<K: SampleKey>(store: &impl Store<K>, key: &K) -> Option<Artifact<K::Payload>> {
    store.load(key).unwrap_or_else(|error| failed("load", &*error))
}

fn write<K: SampleKey>(store: &impl Store<K>, key: &K, artifact: &Artifact<K::Payload>) -> Stored {
    store.store(key, artifact).unwrap_or_else(|error| failed("store", &*error))
}

fn remove<K: SampleKey>(store: &impl Store<K>, key: &K) -> bool {
    store.remove(key).unwrap_or_else(|error| failed("remove", &*error))
}

fn claim<K: SampleKey>(store: &impl Store<K>, key: &K) -> Claim<K> {
    store.claim(key).unwrap_or_else(|error| failed("claim", &*error))
}

fn failed(operation: &str, error: &dyn std::error::Error) -> ! {
    panic!("`{operation}` failed on a store that works: {error}")
}

fn missing() -> ! {
    panic!("what was stored is missing")
}
