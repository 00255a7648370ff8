//! What keeps a store small and sound.

use std::path::Path;

use anyhow::ensure;
use ptx_disk::{Bundle, Compression};

use crate::{format, store};

/// Removes what the bounds do not allow, leftovers too, and stores the rest as small as `level`
/// makes it.
pub(crate) fn trim(level: Option<i32>, folder: Option<&Path>) -> anyhow::Result<()> {
    let store = store::open_writable(folder)?;
    let recompress = |level| store.recompress(Compression::Zstd { level });
    // First, so that fewer have to go.
    let saved = level.map(recompress).transpose()?.unwrap_or_default();
    let trimmed = store.trim()?;
    let swept = store.sweep()?;
    println!("{} entries are smaller by {}", saved.entries, format::bytes(saved.bytes));
    println!("{} entries of {} removed", trimmed.entries, format::bytes(trimmed.bytes));
    println!("{swept} leftovers removed");
    Ok(())
}

/// Reads every entry and checks all that can be checked.
pub(crate) fn verify(bundle: Option<&Path>, folder: Option<&Path>) -> anyhow::Result<()> {
    let verified = match bundle {
        Some(bundle) => Bundle::open(bundle)?.verify(),
        None => store::open(folder)?.verify()?,
    };
    println!("{} entries are whole", verified.whole);
    println!(
        "{} of a newer release or too large for the settings, left alone",
        verified.left_alone
    );
    ensure!(
        verified.damaged == 0 && verified.unreadable == 0,
        "{} entries are damaged, and set aside in a store that may be written; {} cannot be read",
        verified.damaged,
        verified.unreadable
    );
    Ok(())
}
