//! Opening a store by what the caller named.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use ptx_disk::{Config, DiskStore, Mode};

/// The store in `folder`, or where the environment and the platform say. Warnings go to standard
/// error.
pub(crate) fn open(folder: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(config(folder)?)?)
}

/// The same, for a command that would do nothing to a store that is off or read-only.
pub(crate) fn open_writable(folder: Option<&Path>) -> anyhow::Result<DiskStore> {
    let config = config(folder)?;
    ensure!(
        config.mode == Mode::ReadWrite && config.root.is_some(),
        "the store may not be written: set PTX_CACHE=rw, and name a folder"
    );
    Ok(DiskStore::open(config)?)
}

fn config(folder: Option<&Path>) -> anyhow::Result<Config> {
    let folder =
        folder.map(std::path::absolute).transpose().context("cannot tell the store's path")?;
    let mut config = Config::find(folder.as_deref())?;
    concat!("ptx ", env!("CARGO_PKG_VERSION")).clone_into(&mut config.producer);
    config.on_warning = Some(Arc::new(|warning| eprintln!("ptx: {warning}")));
    Ok(config)
}
