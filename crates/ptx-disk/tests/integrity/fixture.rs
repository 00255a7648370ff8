//! A store to do harm to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_disk::storage::Storage;
use ptx_disk::{Attributes, Compression, Config, DiskStore, Entry, Load, Payload};
use ptx_key::{Digest, PtxKey};

/// A key whose first byte, and so its folder, is `number`'s lowest.
pub(crate) fn key(number: u32) -> PtxKey {
    let mut bytes = *Digest::of_bytes(&number.to_le_bytes()).as_bytes();
    bytes[0] = number.to_le_bytes()[0];
    PtxKey::from_bytes(bytes)
}

/// Text that says which key it belongs to.
pub(crate) fn text(number: u32) -> String {
    let line = format!("// kernel {number}\n.visible .entry kernel_{number}() {{ ret; }}\n");
    format!(".version 8.0\n.target sm_90a\n{}", line.repeat(8))
}

pub(crate) fn entry(number: u32) -> Entry {
    let mut entry = Entry::ptx(text(number), Duration::from_millis(12));
    entry.attributes.set(Attributes::KERNEL, format!("kernel_{number}"));
    entry
}

/// The text that a load handed out. A text of another key ends the test.
pub(crate) fn loaded(store: &DiskStore, number: u32) -> Option<String> {
    let entry = store.load(key(number)).hit()?;
    let Payload::Ptx(found) = entry.payload else { panic!("a cubin for a key of PTX text") };
    assert_eq!(*found, *text(number), "wrong text for {number}");
    Some(found.to_string())
}

pub(crate) fn damage_of(load: &Load) -> Option<String> {
    match load {
        Load::Damaged(damage) => Some(damage.to_string()),
        Load::Hit(_) => panic!("a damaged entry was handed out"),
        _ => None,
    }
}

/// Where a store keeps an entry, as `FORMAT.md` says.
pub(crate) fn path_of(root: &Path, number: u32) -> PathBuf {
    let key = key(number).to_string();
    root.join("entries-1").join(&key[..2]).join(format!("{key}.ptx-entry"))
}

/// A configuration that collects its warnings, and retries at once after a failure.
pub(crate) fn config(root: &Path) -> (Config, Arc<Mutex<Vec<String>>>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&warnings);
    let config = Config {
        first_pause: Duration::ZERO,
        on_warning: Some(Arc::new(move |warning| {
            kept.lock().unwrap().push(warning.to_string());
        })),
        ..Config::new(root)
    };
    (config, warnings)
}

pub(crate) fn store_on(storage: impl Storage) -> DiskStore {
    let (config, _) = config(Path::new("/store"));
    DiskStore::open_on(Arc::new(storage), config).unwrap()
}

/// A store on the machine's file system, gone with the folder.
pub(crate) fn store() -> (DiskStore, tempfile::TempDir) {
    store_with(Compression::default())
}

pub(crate) fn store_with(compression: Compression) -> (DiskStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (config, _) = config(&folder.path().join("store"));
    let store = DiskStore::open(Config { compression, ..config }).unwrap();
    (store, folder)
}
