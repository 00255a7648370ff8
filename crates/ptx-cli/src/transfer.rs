//! How do entries get to another machine, or to tools that know no store?

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ptx_cuda::Cubin;
use ptx_disk::{Bundle, DiskStore, EntryKey};
use ptx_key::{ModuleKey, Target};
use ptx_store::{ArtifactKey, Payload as _};

use crate::store;

/// Writes all entries into one file, or all texts and the cubins for these architectures. The same
/// entries under the same name give the same bytes.
pub(crate) fn export(
    to: &Path,
    name: &str,
    architectures: &[Target],
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let to = std::path::absolute(to).context("cannot make the bundle's path absolute")?;
    let store = store::open(directory)?;
    let wanted: Vec<String> =
        architectures.iter().map(|target| format!("sm_{}", target.number)).collect();
    let is_wanted = |key: &EntryKey| {
        let EntryKey::Cubin(key) = key else { return true };
        wanted.is_empty() || architecture(&store, key).is_some_and(|its| wanted.contains(&its))
    };
    let entries = store.export(&to, name, is_wanted)?;
    println!("{entries} entries in `{}`", to.display());
    Ok(())
}

fn architecture(store: &DiskStore, key: &ModuleKey) -> Option<String> {
    let cubin = store::load(store, key).ok()??;
    Some(Cubin::new(cubin.payload).ok()?.architecture())
}

/// Writes each payload into a separate file, `KEY.ptx` or `KEY.cubin`, without the store's header.
pub(crate) fn export_text(to: &Path, directory: Option<&Path>) -> anyhow::Result<()> {
    let store = store::open(directory)?;
    fs::create_dir_all(to)
        .with_context(|| format!("cannot create the directory `{}`", to.display()))?;
    let (mut written, mut left_out) = (0_u64, 0_u64);
    for key in store.keys()? {
        let path = to.join(format!("{key}.{}", key.kind()));
        let is_written = match key {
            EntryKey::Ptx(key) => write_payload(&store, &key, &path)?,
            EntryKey::Cubin(key) => write_payload(&store, &key, &path)?,
        };
        *if is_written { &mut written } else { &mut left_out } += 1;
    }
    println!("{written} files in `{}`; {left_out} entries could not be read", to.display());
    Ok(())
}

/// Writes the payload of `key` into the file `path`. Returns false if it cannot be read.
fn write_payload<K: ArtifactKey>(store: &DiskStore, key: &K, path: &Path) -> anyhow::Result<bool> {
    let Ok(Some(artifact)) = store::load(store, key) else { return Ok(false) };
    fs::write(path, artifact.payload.as_bytes())
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(true)
}

/// Copies the entries of a bundle into the store.
pub(crate) fn import(bundle: &Path, directory: Option<&Path>) -> anyhow::Result<()> {
    let bundle = Bundle::open(bundle)?;
    let imported = store::open_writable(directory)?.import(&bundle)?;
    println!("from `{}`: {} entries added", bundle.name().escape_debug(), imported.added);
    println!("{} were there already", imported.already_there);
    println!("{} are there with other content, which stays", imported.kept);
    println!("{} are damaged, of a newer release, or too large", imported.unusable);
    Ok(())
}
