use std::time::Duration;

use ptx_cache::{Artifact, Store};
use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, Lanes,
};

use super::*;
use crate::storage::MemoryStorage;
use crate::{Config, Mode};

struct Program;

impl Identity for Program {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str("program");
    }
}

fn store(mode: Mode) -> Box<dyn Store> {
    let config = Config { mode, ..Config::new("/store") };
    Box::new(DiskStore::open_on(Arc::new(MemoryStorage::new()), config).unwrap())
}

fn keyed() -> (PtxKey, Artifact) {
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
    let artifact = Artifact {
        text: "text".into(),
        cost: Duration::from_millis(5),
        family: Some(Digest::of_bytes(b"family")),
        trace: Some(Arc::new(trace.clone())),
    };
    (trace.key(), artifact)
}

#[test]
fn an_artifact_comes_back_with_all_that_is_known_of_it() {
    let (store, (key, artifact)) = (store(Mode::ReadWrite), keyed());
    assert!(store.load(&key).unwrap().is_none());
    assert!(matches!(store.claim(&key).unwrap(), ptx_cache::Claim::Held(_)));
    store.store(&key, &artifact).unwrap();
    let loaded = store.load(&key).unwrap().unwrap();
    assert_eq!((&loaded.text, loaded.cost), (&artifact.text, artifact.cost));
    assert_eq!((loaded.family, loaded.trace), (artifact.family, artifact.trace));
    assert!(matches!(store.claim(&key).unwrap(), ptx_cache::Claim::Published(_)));
    assert!(store.remove(&key).unwrap());
    assert!(!store.remove(&key).unwrap());
}

#[test]
fn a_store_that_is_off_or_read_only_is_no_failure() {
    let (key, artifact) = keyed();
    for mode in [Mode::Off, Mode::ReadOnly] {
        let store = store(mode);
        store.store(&key, &artifact).unwrap();
        assert!(store.load(&key).unwrap().is_none());
        assert!(matches!(store.claim(&key).unwrap(), ptx_cache::Claim::Unheld));
    }
}
