//! A reader in another language, written from `FORMAT.md`, reads what the store writes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use ptx_disk::{Attributes, Compression, Entry};
use ptx_key::ModuleKey;

use crate::fixture::{key, path_of, store_with, text};

fn read_with_python(path: &Path) -> Option<(bool, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("format/read_entry.py");
    let output = Command::new("python3").arg(script).arg(path).output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3 on this machine");
        return None;
    };
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    Some((output.status.success(), said))
}

#[test]
fn python_reads_what_the_store_writes() {
    for (compression, encoding) in
        [(Compression::Off, "plain"), (Compression::Zstd { level: 3 }, "zstd with a dictionary")]
    {
        let (store, folder) = store_with(compression);
        let root = folder.path().join("store");
        let mut entry = Entry::ptx(text(1), Duration::from_nanos(12_345_678));
        entry.producer = "a back end".into();
        entry.created = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        entry.attributes.set(Attributes::KERNEL, "saxpy");
        entry.attributes.set("raw", vec![0, 255]);
        let _ = store.store(key(1), &entry);
        let Some((success, said)) = read_with_python(&path_of(&root, 1)) else { return };
        assert!(success, "{said}");
        let expected = format!(
            "kind ptx\nkey {}\nencoding {encoding}\ncost_nanos 12345678\n\
             created_nanos 1700000000123456789\nproducer a back end\n\
             attribute kernel 7361787079\nattribute raw 00ff\ncontent_bytes {}\n",
            key(1),
            text(1).len()
        );
        assert!(said.starts_with(&expected), "{said}\n\n{expected}");
    }
}

#[test]
fn python_refuses_what_the_store_refuses() {
    let (store, folder) = store_with(Compression::Off);
    let root = folder.path().join("store");
    let module = ModuleKey::from_bytes([7; 32]);
    let _ = store.store(module, &Entry::cubin(&b"\x7fELF and so on"[..], Duration::ZERO));
    let path = root.join(format!("entries-1/07/{module}.cubin-entry"));
    let whole = fs::read(&path).unwrap();
    let Some((success, said)) = read_with_python(&path) else { return };
    assert!(success && said.starts_with("kind cubin\n"), "{said}");
    for (at, complaint) in [(3, "magic"), (20, "header"), (whole.len() - 1, "payload")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let Some((success, said)) = read_with_python(&path) else { return };
        assert!(!success && said.contains(complaint), "{said}");
    }
}
