//! A stored text, and what is known of it.

use std::io::Write as _;
use std::path::Path;

use anyhow::bail;
use ptx_disk::Load;
use ptx_key::PtxKey;

use crate::{format, store};

pub(crate) fn run(key: PtxKey, folder: Option<&Path>, text_alone: bool) -> anyhow::Result<()> {
    let store = store::open(folder)?;
    let entry = match store.load(key) {
        Load::Hit(entry) => entry,
        Load::Miss => bail!("the store has no entry of {key}"),
        Load::Damaged(damage) => bail!("the entry of {key} was damaged and is set aside: {damage}"),
        Load::Failed(error) => bail!(error),
    };
    if !text_alone {
        println!("key       {key}");
        println!("bytes     {}", entry.payload.as_bytes().len());
        println!("lowering  {}", format::time(entry.cost));
        println!("producer  {}", entry.producer);
        if let Some(trace) = entry.attributes.trace() {
            println!("program   {}", trace.program().normalized);
            for field in trace.configuration() {
                println!("field     {:.12}  {}", field.digest, field.name);
            }
        }
        println!();
    }
    std::io::stdout().write_all(entry.payload.as_bytes())?;
    Ok(())
}
