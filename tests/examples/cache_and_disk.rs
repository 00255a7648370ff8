//! A cache above a directory: the first process lowers, the next one loads.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptx_cache::{Artifact, Config, PtxArtifact, PtxCache, Served, WritePolicy};
use ptx_disk::DiskStore;
use ptx_key::{Digest, PtxKey};

/// What a process does at its start: open the store, and put a cache above it.
fn start(store: &Path) -> Result<PtxCache, Box<dyn Error>> {
    let disk = Arc::new(DiskStore::open(ptx_disk::Config::new(store))?);
    Ok(PtxCache::with_tiers(Config::default(), vec![disk], WritePolicy::Ignore))
}

/// A back end's lowering, which takes its time. Attributes come back with the text.
#[expect(clippy::unnecessary_wraps, reason = "a real lowering may fail")]
fn lower() -> Result<PtxArtifact, std::fmt::Error> {
    std::thread::sleep(Duration::from_millis(20));
    let mut artifact =
        Artifact::from(".version 8.0\n.target sm_90\n.visible .entry add() { ret; }\n");
    artifact.attributes.set_shared_bytes(1024);
    Ok(artifact)
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let store = directory.path().join("store");
    let key = PtxKey::from_bytes(*Digest::of_bytes(b"add").as_bytes());
    let show = |what: &str, served: &Served<Arc<PtxArtifact>>| {
        let shared = served.attributes.shared_bytes().unwrap_or_default();
        println!("{what}: from {}, {shared} bytes of shared memory", served.source);
    };

    let first = start(&store)?;
    show("first request", &first.get_or_lower(&key, lower)?);
    show("second request", &first.get_or_lower(&key, lower)?);
    drop(first);
    // Another process, or the next run.
    show("next process", &start(&store)?.get_or_lower(&key, lower)?);
    Ok(())
}
