//! Readers in another language, written from `FORMAT.md`, read what the store writes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use ptx_disk::{Artifact, Attributes, Compression, CubinArtifact, DiskStore, EntryKey, Store as _};
use ptx_key::ModuleKey;

use crate::fixture::{Details as _, entry, key, path_of, store_with, text};

/// What a reader said, and whether it was content; `None` after saying why the test is skipped.
fn run(script: &str, arguments: &[&Path]) -> Option<(bool, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("format").join(script);
    let Ok(output) = Command::new("python3").arg("-B").arg(script).args(arguments).output() else {
        let required = std::env::var("PTX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == "python"), "there is no python3");
        eprintln!("skipped: there is no python3 on this machine");
        return None;
    };
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if said.contains("neither Python 3.14 nor the command zstd") {
        eprintln!("skipped: no python3 on this machine decodes zstd, and there is no zstd");
        return None;
    }
    Some((output.status.success(), said))
}

fn read_entry(path: &Path) -> Option<(bool, String)> {
    run("read_entry.py", &[path])
}

/// A text of every encoding that the store uses, and a cubin that compresses.
const COMPRESSIONS: [(Compression, &str, i32); 3] = [
    (Compression::Off, "plain", 0),
    (Compression::Zstd { level: -3 }, "zstd with a dictionary", -3),
    (Compression::Zstd { level: 19 }, "zstd with a dictionary", 19),
];

fn cubin() -> (ModuleKey, CubinArtifact) {
    let bytes = [b"\x7fELF".as_slice(), &[0; 3000], b"the end"].concat();
    (ModuleKey::from_bytes([7; 32]), Artifact::new(bytes))
}

#[test]
fn python_reads_what_the_store_writes() {
    for (compression, encoding, level) in COMPRESSIONS {
        let (store, directory) = store_with(compression);
        let root = directory.path().join("store");
        let mut entry = Artifact::from(text(1)).with_cost(Duration::from_nanos(12_345_678));
        entry.attributes.set(Attributes::PRODUCER, "a back end");
        entry
            .attributes
            .set_created(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789));
        entry.attributes.set(Attributes::KERNEL, "saxpy");
        entry.attributes.set("raw", vec![0, 255]);
        let _ = store.write(&key(1), &entry);
        let Some((success, said)) = read_entry(&path_of(&root, 1)) else { return };
        assert!(success, "{said}");
        let expected = format!(
            "kind ptx\nkey {}\nencoding {encoding}\ncost_nanos 12345678\n\
             created_nanos 1700000000123456789\nlevel {level}\nproducer a back end\n\
             attribute kernel 7361787079\nattribute raw 00ff\ncontent_bytes {}\n",
            key(1),
            text(1).len()
        );
        assert!(said.starts_with(&expected), "{said}\n\n{expected}");
    }
}

#[test]
fn python_decodes_what_the_store_compressed() {
    for (compression, encoding, _) in COMPRESSIONS {
        let (store, directory) = store_with(compression);
        let (root, out) = (directory.path().join("store"), directory.path().join("out"));
        let (module, cubin) = cubin();
        let _ = store.write(&key(1), &entry(1));
        let _ = store.write(&module, &cubin);
        let cubin_path = root.join(format!("entries-1/07/{module}.cubin-entry"));
        let cubin_encoding = if compression == Compression::Off { "plain" } else { "LZ4" };
        for (path, encoding, content) in [
            (path_of(&root, 1), encoding, text(1).into_bytes()),
            (cubin_path, cubin_encoding, cubin.payload.to_vec()),
        ] {
            let Some((success, said)) = run("read_entry.py", &[&path, &out]) else { return };
            assert!(success, "{said}");
            assert!(said.contains(&format!("\nencoding {encoding}\n")), "{said}");
            assert!(fs::read(&out).unwrap() == content, "{said}");
        }
    }
}

#[test]
fn python_refuses_what_the_store_refuses() {
    let (store, directory) = store_with(Compression::Off);
    let root = directory.path().join("store");
    let module = ModuleKey::from_bytes([7; 32]);
    let _ = store.write(&module, &Artifact::new(&b"\x7fELF and so on"[..]));
    let path = root.join(format!("entries-1/07/{module}.cubin-entry"));
    let whole = fs::read(&path).unwrap();
    let Some((success, said)) = read_entry(&path) else { return };
    assert!(success && said.starts_with("kind cubin\n"), "{said}");
    for (at, complaint) in [(3, "magic"), (20, "header"), (whole.len() - 1, "payload")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let Some((success, said)) = read_entry(&path) else { return };
        assert!(!success && said.contains(complaint), "{said}");
    }
}

fn content_of(store: &DiskStore, key: EntryKey) -> Vec<u8> {
    match key {
        EntryKey::Ptx(key) => store.load(&key).unwrap().unwrap().payload.as_bytes().to_vec(),
        EntryKey::Cubin(key) => store.load(&key).unwrap().unwrap().payload.to_vec(),
    }
}

/// A bundle of texts and a cubin of one key's bytes each.
fn bundle(store: &DiskStore, path: &Path) -> Vec<EntryKey> {
    for number in 0..4 {
        let _ = store.write(&key(number), &entry(number));
    }
    let (module, cubin) = cubin();
    let _ = store.write(&module, &cubin);
    assert_eq!(store.export(path, "shipped with an app", |_| true).unwrap(), 5);
    store.keys().unwrap()
}

#[test]
fn python_reads_a_bundle() {
    let (store, directory) = store_with(Compression::default());
    let (path, out) = (directory.path().join("bundle"), directory.path().join("out"));
    let keys = bundle(&store, &path);
    fs::create_dir(&out).unwrap();
    let Some((success, said)) = run("read_bundle.py", &[&path, &out]) else { return };
    let lines = keys.iter().map(|key| format!("entry {} {key}\n", key.kind()));
    assert_eq!(said, format!("name shipped with an app\n{}", lines.collect::<String>()));
    assert!(success);
    for key in keys {
        let content = fs::read(out.join(format!("{key}.{}", key.kind()))).unwrap();
        assert_eq!(content, content_of(&store, key));
    }
}

#[test]
fn python_refuses_a_damaged_bundle() {
    let (store, directory) = store_with(Compression::default());
    let path = directory.path().join("bundle");
    let _ = bundle(&store, &path);
    let whole = fs::read(&path).unwrap();
    let ends = [3, 9, 20, 40, 60, 200, whole.len() - 60, whole.len() - 1];
    for at in ends {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let Some((success, said)) = run("read_bundle.py", &[&path]) else { return };
        assert!(!success && said.contains("bundle: "), "byte {at}: {said}");
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let Some((success, said)) = run("read_bundle.py", &[&path]) else { return };
    assert!(!success && said.contains("does not end where the file does"), "{said}");
}
