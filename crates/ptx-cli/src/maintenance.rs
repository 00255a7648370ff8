//! How does a store stay small and undamaged?

use std::io::Write;
use std::path::Path;

use anyhow::ensure;
use ptx_disk::Compression;

use crate::{format, store, transfer};

/// Removes what exceeds the budget, and leftovers. Compresses the rest at `level`.
pub(crate) fn trim(
    out: &mut dyn Write,
    level: Option<i32>,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let store = store::open_writable(directory)?;
    let recompress = |level| store.recompress(Compression::Zstd { level });
    // First, so that the trim removes fewer entries.
    let saved = level.map(recompress).transpose()?.unwrap_or_default();
    let trimmed = store.trim()?;
    let swept = store.sweep()?;
    writeln!(out, "{} entries are smaller by {}", saved.entries, format::bytes(saved.bytes))?;
    writeln!(out, "{} entries of {} removed", trimmed.entries, format::bytes(trimmed.bytes))?;
    writeln!(out, "{swept} leftovers removed")?;
    Ok(())
}

/// Reads every entry and checks all that can be checked.
pub(crate) fn verify(
    out: &mut dyn Write,
    bundle: Option<&Path>,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let verified = match bundle {
        Some(bundle) => transfer::open_bundle(bundle)?.verify(),
        None => store::open(directory)?.verify()?,
    };
    writeln!(out, "{} entries are whole", verified.whole)?;
    writeln!(
        out,
        "{} of a newer release or too large for the settings, left alone",
        verified.left_alone
    )?;
    ensure!(
        verified.damaged == 0 && verified.unreadable == 0,
        "{} entries are damaged, and set aside in a store that may be written; {} cannot be read",
        verified.damaged,
        verified.unreadable
    );
    Ok(())
}
