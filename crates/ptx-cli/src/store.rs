//! Opening a store by what the caller named.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use ptx_disk::{Config, DiskStore};

/// The store in `folder`, or where the environment and the platform say. Warnings go to standard
/// error.
pub(crate) fn open(folder: Option<&Path>) -> anyhow::Result<DiskStore> {
    let folder =
        folder.map(std::path::absolute).transpose().context("cannot tell the store's path")?;
    let mut config = Config::find(folder.as_deref())?;
    concat!("ptx ", env!("CARGO_PKG_VERSION")).clone_into(&mut config.producer);
    config.on_warning = Some(Arc::new(|warning| eprintln!("ptx: {warning}")));
    Ok(DiskStore::open(config)?)
}
