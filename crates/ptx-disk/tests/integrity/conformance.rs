//! The suite that every store runs, and what it leaves to the store.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptx_disk::format::{Encoding, Header};
use ptx_disk::storage::{MemoryStorage, OsStorage};
use ptx_disk::{Artifact, Attributes, Compression, Config, DiskStore, Mode, Store, Stored};
use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, Lanes,
    ModuleKey, PtxKey,
};
use ptx_store::Claim;
use ptx_store::testing::{SampleKey, check_store};

use crate::fixture::{config, key, path_of, store_on, text};

fn in_memory() -> DiskStore {
    store_on(MemoryStorage::new())
}

#[test]
fn a_store_in_memory_keeps_every_promise_for_both_kinds() {
    check_store::<PtxKey, _>(in_memory);
    check_store::<ModuleKey, _>(in_memory);
}

#[test]
fn a_store_on_the_machine_keeps_every_promise_for_both_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = 0;
    let mut open = || {
        opened += 1;
        let (config, _) = config(&directory.path().join(opened.to_string()));
        DiskStore::open_on(Arc::new(OsStorage::new()), config).unwrap()
    };
    check_store::<PtxKey, _>(&mut open);
    check_store::<ModuleKey, _>(&mut open);
}

fn skips_everything<K: SampleKey>(mode: Mode) {
    let (config, _) = config(Path::new("/store"));
    let config = Config { mode, ..config };
    let store = DiskStore::open_on(Arc::new(MemoryStorage::new()), config).unwrap();
    let (key, artifact) = (K::sample_key(1), K::sample_artifact(1));
    assert_eq!(store.store(&key, &artifact).unwrap(), Stored::Skipped);
    assert!(!store.is_writable());
    assert_eq!(store.load(&key).unwrap(), None);
    assert!(matches!(store.claim(&key).unwrap(), Claim::NotCoordinated));
}

#[test]
fn a_store_that_is_off_or_read_only_is_no_failure() {
    for mode in [Mode::Off, Mode::ReadOnly] {
        skips_everything::<PtxKey>(mode);
        skips_everything::<ModuleKey>(mode);
    }
}

struct Program;

impl Identity for Program {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str("program");
    }
}

#[test]
fn a_trace_comes_back_with_its_artifact() {
    let configuration = Configuration {
        contract: Contract::new("test", 1),
        target: "sm_90a".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::default(),
        toolchain: None,
    };
    let trace = KeyBuilder::new(&configuration).unwrap().trace(&Program);
    let (store, key) = (in_memory(), trace.key());
    let artifact = Artifact::from("text").with_trace(trace);
    assert_eq!(store.store(&key, &artifact).unwrap(), Stored::Written);
    let found = store.load(&key).unwrap().unwrap();
    assert!(found.trace.is_some());
    assert_eq!((found.trace, found.family), (artifact.trace, artifact.family));
}

/// Exporting and importing, which sees neither kind's type.
#[test]
fn every_attribute_travels_through_a_bundle_for_both_kinds() {
    fn put<K: SampleKey>(store: &DiskStore) {
        assert_eq!(
            store.store(&K::sample_key(1), &K::sample_artifact(1)).unwrap(),
            Stored::Written
        );
    }
    fn same<K: SampleKey>(from: &DiskStore, to: &DiskStore) {
        let mut expected = from.load(&K::sample_key(1)).unwrap().unwrap();
        expected.attributes.set(Attributes::ORIGIN, "app");
        assert_eq!(to.load(&K::sample_key(1)).unwrap(), Some(expected));
    }
    fn in_place<K: SampleKey>(from: &DiskStore, bundle: &ptx_disk::Bundle) {
        let found = bundle.load(&K::sample_key(1)).unwrap();
        assert_eq!(found, from.load(&K::sample_key(1)).unwrap());
    }
    let storage = MemoryStorage::new();
    let (from, to) = (store_on(storage.clone()), in_memory());
    put::<PtxKey>(&from);
    put::<ModuleKey>(&from);
    assert_eq!(from.export(Path::new("/bundle"), "app", |_| true).unwrap(), 2);
    let bundle = ptx_disk::Bundle::open_on(&storage, Path::new("/bundle")).unwrap();
    in_place::<PtxKey>(&from, &bundle);
    in_place::<ModuleKey>(&from, &bundle);
    assert_eq!(to.import(&bundle).unwrap().added, 2);
    same::<PtxKey>(&from, &to);
    same::<ModuleKey>(&from, &to);
}

/// What an artifact becomes in the file has not changed with the types that callers see.
#[test]
fn an_artifact_has_the_bytes_that_it_had_in_the_first_release() {
    let storage = MemoryStorage::new();
    let (config, _) = config(Path::new("/store"));
    let config = Config { compression: Compression::Off, ..config };
    let store = DiskStore::open_on(Arc::new(storage.clone()), config).unwrap();
    let mut artifact = Artifact::from(text(1)).with_cost(Duration::from_nanos(12_345_678));
    artifact.family = Some(Digest::from_bytes([5; 32]));
    artifact.attributes.set(Attributes::KERNEL, "saxpy");
    artifact.attributes.set(Attributes::PRODUCER, "a back end 1.4");
    artifact.attributes.set_created(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_001));
    assert_eq!(store.store(&key(1), &artifact).unwrap(), Stored::Written);

    let mut attributes = Attributes::default();
    attributes.set("family", [5; 32]);
    attributes.set("kernel", "saxpy");
    let header = Header {
        key: key(1).into(),
        encoding: Encoding::Plain,
        stored_digest: Digest::of_bytes(text(1).as_bytes()),
        content_digest: Digest::of_bytes(text(1).as_bytes()),
        stored_bytes: text(1).len() as u64,
        content_bytes: text(1).len() as u64,
        cost_nanos: 12_345_678,
        created_nanos: 1_700_000_001,
        level: 0,
        producer: "a back end 1.4".to_owned(),
        attributes,
    };
    let file = [header.to_bytes().unwrap(), text(1).into_bytes()].concat();
    assert_eq!(storage.files()[&path_of(Path::new("/store"), 1)], file);
    assert_eq!(store.load(&key(1)).unwrap(), Some(artifact));
}
