//! How is the store opened and read that the caller named?

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

use anyhow::{Context as _, bail, ensure};
use ptx_disk::{Config, DiskStore, Mode};
use ptx_store::{Artifact, ArtifactKey, Store as _};

use crate::output;

/// There is no store at the path, or it is off. The message names the path and the cure.
#[derive(Debug)]
pub(crate) struct NoStore(String);

impl fmt::Display for NoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoStore {}

/// Opens the store in `directory`, or where the environment and the platform say. Creates one if
/// there is none. Warnings go to standard error.
pub(crate) fn create(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(config(directory)?)?)
}

/// The same, for a command that would do nothing to a store that is off or read-only.
pub(crate) fn create_writable(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(writable(config(directory)?)?)?)
}

/// Opens a store that exists. A path that leads to none fails with [`NoStore`], and nothing is
/// created there.
pub(crate) fn open(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(existing(config(directory)?)?)?)
}

/// The same, for a command that would do nothing to a store that is off or read-only.
pub(crate) fn open_writable(directory: Option<&Path>) -> anyhow::Result<DiskStore> {
    Ok(DiskStore::open(existing(writable(config(directory)?)?)?)?)
}

fn writable(config: Config) -> anyhow::Result<Config> {
    ensure!(
        config.mode == Mode::ReadWrite && config.root.is_some(),
        "the store may not be written: set PTX_CACHE=rw, and name a directory"
    );
    Ok(config)
}

fn existing(config: Config) -> anyhow::Result<Config> {
    if config.mode == Mode::Off {
        bail!(NoStore("the store is off: set PTX_CACHE to ro or rw, or unset it".to_owned()));
    }
    let Some(root) = &config.root else {
        let cure = "name the store with --store DIR or PTX_CACHE_DIR";
        bail!(NoStore(format!("this machine has no directory for caches: {cure}")));
    };
    if DiskStore::exists(root)? {
        return Ok(config);
    }
    let shown = root.display();
    let found = match (fs::metadata(root), fs::symlink_metadata(root)) {
        (Ok(metadata), _) if metadata.is_dir() => format!("the directory `{shown}` is not a store"),
        (Ok(_), _) => format!("`{shown}` is not a store: it is not a directory"),
        (Err(_), Ok(_)) => format!("there is no store at `{shown}`, which is a link to nothing"),
        (Err(_), Err(_)) => format!("there is no store at `{shown}`"),
    };
    bail!(NoStore(format!(
        "{found}; name another path with --store DIR or PTX_CACHE_DIR, or create a store there \
         with `ptx demo`, `ptx import` or `ptx warm`"
    )))
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
