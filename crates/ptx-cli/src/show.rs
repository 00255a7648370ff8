//! A stored text or cubin, and what is known of it.

use std::io::Write as _;
use std::path::Path;

use anyhow::bail;
use ptx_disk::{DiskStore, Entry, EntryKey, Kind, Load};
use ptx_key::Digest;

use crate::{format, store};

pub(crate) fn run(key: Digest, folder: Option<&Path>, payload_alone: bool) -> anyhow::Result<()> {
    let store = store::open(folder)?;
    let entry = find(&store, key)?;
    let mut out = std::io::stdout().lock();
    if !payload_alone {
        writeln!(out, "key       {key}")?;
        writeln!(out, "kind      {}", entry.payload.kind())?;
        writeln!(out, "bytes     {}", entry.payload.as_bytes().len())?;
        let making = match entry.payload.kind() {
            Kind::Ptx => "lowering",
            Kind::Cubin => "assembly",
        };
        writeln!(out, "{making}  {}", format::time(entry.cost))?;
        // Names may come from a bundle, and no terminal is to obey them.
        writeln!(out, "producer  {}", entry.producer.escape_debug())?;
        if let Some(trace) = entry.attributes.trace() {
            writeln!(out, "program   {}", trace.program().normalized)?;
            for (name, digest) in trace.configuration() {
                writeln!(out, "field     {digest:.12}  {}", name.escape_debug())?;
            }
        }
        if entry.payload.kind() == Kind::Cubin {
            // A terminal shows nothing of it that a person can read.
            return Ok(());
        }
        writeln!(out)?;
    }
    out.write_all(entry.payload.as_bytes())?;
    Ok(())
}

/// The digits of a key do not say what it names: a text is looked for first, then a cubin.
fn find(store: &DiskStore, key: Digest) -> anyhow::Result<Entry> {
    for kind in [Kind::Ptx, Kind::Cubin] {
        match store.load(EntryKey::from_bytes(kind, *key.as_bytes())) {
            Load::Hit(entry) => return Ok(entry),
            Load::Miss => {}
            Load::Damaged(damage) => {
                bail!("the entry of {key} was damaged and is set aside: {damage}")
            }
            Load::Failed(error) => bail!(error),
        }
    }
    bail!("the store has no entry of {key}")
}
