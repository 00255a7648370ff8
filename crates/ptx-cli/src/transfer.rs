//! Entries carried from one machine to another, or out to tools that know nothing of a store.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ptx_cuda::Cubin;
use ptx_disk::{Bundle, DiskStore, EntryKey, Kind, Payload};
use ptx_key::{ModuleKey, Target};

use crate::store;

/// Writes all entries into one file, or all texts and the cubins for these architectures. The same
/// entries under the same name give the same bytes.
pub(crate) fn export(
    to: &Path,
    name: &str,
    architectures: &[Target],
    folder: Option<&Path>,
) -> anyhow::Result<()> {
    let to = std::path::absolute(to).context("cannot tell the bundle's path")?;
    let store = store::open(folder)?;
    let wanted: Vec<String> =
        architectures.iter().map(|target| format!("sm_{}", target.number())).collect();
    let is_wanted = |key: &EntryKey| {
        let EntryKey::Cubin(key) = key else { return true };
        wanted.is_empty() || architecture(&store, key).is_some_and(|its| wanted.contains(&its))
    };
    let entries = store.export(&to, name, is_wanted)?;
    println!("{entries} entries in `{}`", to.display());
    Ok(())
}

fn architecture(store: &DiskStore, key: &ModuleKey) -> Option<String> {
    let Payload::Cubin(image) = store.load(key).hit()?.payload else { return None };
    Some(Cubin::new(image).ok()?.architecture())
}

/// Writes each payload into a file of its own, `KEY.ptx` or `KEY.cubin`, without the store's
/// header.
pub(crate) fn export_text(to: &Path, folder: Option<&Path>) -> anyhow::Result<()> {
    let store = store::open(folder)?;
    fs::create_dir_all(to).with_context(|| format!("cannot make the folder `{}`", to.display()))?;
    let (mut written, mut left_out) = (0_u64, 0_u64);
    for key in store.keys()? {
        let Some(entry) = store.load(key).hit() else {
            left_out += 1;
            continue;
        };
        let path = to.join(match key.kind() {
            Kind::Ptx => format!("{key}.ptx"),
            Kind::Cubin => format!("{key}.cubin"),
        });
        fs::write(&path, entry.payload.as_bytes())
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        written += 1;
    }
    println!("{written} files in `{}`; {left_out} entries could not be read", to.display());
    Ok(())
}

/// Takes the entries of a bundle into the store.
pub(crate) fn import(bundle: &Path, folder: Option<&Path>) -> anyhow::Result<()> {
    let bundle = Bundle::open(bundle)?;
    let imported = store::open_writable(folder)?.import(&bundle)?;
    println!("from `{}`: {} entries added", bundle.name().escape_debug(), imported.added);
    println!("{} were there already", imported.already_there);
    println!("{} are there with other content, which stays", imported.kept);
    println!("{} are damaged, of a newer release, or too large", imported.unusable);
    Ok(())
}
