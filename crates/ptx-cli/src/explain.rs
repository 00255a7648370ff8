//! Why did one key miss where another was present? In which fields do they differ?

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use ptx_disk::DiskStore;
use ptx_key::{KeyTrace, PtxKey};

use crate::keys::KeyDigits;
use crate::store;

pub(crate) fn run(
    out: &mut dyn Write,
    present: &KeyDigits,
    asked: &KeyDigits,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let store = store::open(directory)?;
    let (present, asked) = (present.ptx(&store)?, asked.ptx(&store)?);
    let differences = trace(&store, present)?.differences(&*trace(&store, asked)?);
    if differences.is_empty() {
        writeln!(out, "the same key")?;
    }
    for difference in differences {
        writeln!(out, "{difference}")?;
    }
    Ok(())
}

fn trace(store: &DiskStore, key: PtxKey) -> anyhow::Result<Arc<KeyTrace>> {
    let artifact = store::load(store, &key)?;
    let artifact = artifact.with_context(|| format!("the store has no entry of {key}"))?;
    let trace = artifact.trace.filter(|trace| trace.key() == key);
    trace.with_context(|| format!("the entry of {key} was stored without its key trace"))
}
