//! Why one key missed where another was: the fields in which they differ.

use std::path::Path;

use anyhow::Context as _;
use ptx_disk::DiskStore;
use ptx_key::{KeyTrace, PtxKey};

use crate::store;

pub(crate) fn run(kept: PtxKey, asked: PtxKey, folder: Option<&Path>) -> anyhow::Result<()> {
    let store = store::open(folder)?;
    let differences = trace(&store, kept)?.differences(&trace(&store, asked)?);
    if differences.is_empty() {
        println!("the same key");
    }
    for difference in differences {
        println!("{difference}");
    }
    Ok(())
}

fn trace(store: &DiskStore, key: PtxKey) -> anyhow::Result<KeyTrace> {
    let entry =
        store.load(key).hit().with_context(|| format!("the store has no entry of {key}"))?;
    let trace = entry.attributes.trace();
    let trace = trace.filter(|trace| trace.key() == key);
    trace.with_context(|| format!("the entry of {key} was stored without its key trace"))
}
