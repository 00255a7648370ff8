//! What does an entry of a store hold?

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use ptx_key::{Digest, ModuleKey, PtxKey};
use ptx_store::{Artifact, Attributes, Kind, Payload};

use crate::keys::KeyDigits;
use crate::{format, store};

pub(crate) fn run(
    out: &mut dyn Write,
    key: &KeyDigits,
    directory: Option<&Path>,
    payload_alone: bool,
) -> anyhow::Result<()> {
    let store = store::open(directory)?;
    let key = key.any(&store)?;
    let bytes = *key.as_bytes();
    // The digits of a key do not say what it names.
    if let Some(text) = store::load(&store, &PtxKey::from_bytes(bytes))? {
        return print(out, key, Kind::Ptx, &text, payload_alone);
    }
    if let Some(cubin) = store::load(&store, &ModuleKey::from_bytes(bytes))? {
        return print(out, key, Kind::Cubin, &cubin, payload_alone);
    }
    bail!("the store has no entry of {key}")
}

fn print<P: Payload>(
    out: &mut dyn Write,
    key: Digest,
    kind: Kind,
    artifact: &Artifact<P>,
    payload_alone: bool,
) -> anyhow::Result<()> {
    if !payload_alone {
        writeln!(out, "key       {key}")?;
        writeln!(out, "kind      {kind}")?;
        writeln!(out, "bytes     {}", artifact.payload.as_bytes().len())?;
        let work = match kind {
            Kind::Ptx => "lowering",
            Kind::Cubin => "assembly",
        };
        writeln!(out, "{work}  {}", format::time(artifact.cost))?;
        // A bundle may bring names that contain commands for the terminal.
        let producer = artifact.attributes.text(Attributes::PRODUCER).unwrap_or_default();
        writeln!(out, "producer  {}", producer.escape_debug())?;
        if let Some(trace) = &artifact.trace {
            writeln!(out, "program   {}", trace.program.normalized)?;
            for (name, digest) in trace.configuration() {
                writeln!(out, "field     {digest:.12}  {}", name.escape_debug())?;
            }
        }
        if kind == Kind::Cubin {
            // A person cannot read a cubin in a terminal.
            return Ok(());
        }
        writeln!(out)?;
    }
    out.write_all(artifact.payload.as_bytes())?;
    Ok(())
}
