//! How is the store opened and read that the caller named?

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use ptx_disk::{Config, DiskStore, Mode};
use ptx_store::{Artifact, ArtifactKey, Store as _};

use crate::output;

/// Opens the store in `directory`, or where the environment and the platform say. Warnings go to
/// standard error.
pub(crate) fn open(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(config(directory)?)?)
}

/// The same, for a command that would do nothing to a store that is off or read-only.
pub(crate) fn open_writable(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    let config = config(directory)?;
    ensure!(
        config.mode == Mode::ReadWrite && config.root.is_some(),
        "the store may not be written: set PTX_CACHE=rw, and name a directory"
    );
    Ok(DiskStore::open(config)?)
}

/// Loads the artifact of `key`. Returns `None` if the store has none that it can use.
pub(crate) fn load<K: ArtifactKey>(
    store: &DiskStore,
    key: &K,
) -> anyhow::Result<Option<Artifact<K::Payload>>> {
    store.load(key).map_err(anyhow::Error::from_boxed)
}

fn config(directory: Option<&Path>) -> anyhow::Result<Config> {
    let directory = directory.map(std::path::absolute).transpose();
    let directory = directory.context("cannot make the store's path absolute")?;
    let mut config = Config::find(directory.as_deref())?;
    concat!("ptx ", env!("CARGO_PKG_VERSION")).clone_into(&mut config.producer);
    config.on_warning = Some(Arc::new(|warning| output::tell(warning)));
    Ok(config)
}
