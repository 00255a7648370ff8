//! Two writers of one key.

use std::time::{Duration, SystemTime};

use ptx_disk::{Artifact, Attributes, Compression, Config, CubinArtifact, DiskStore, Store as _};
use ptx_key::{Digest, ModuleKey};

use crate::fixture::{
    Details as _, Read, Write, config, entry, imported, key, loaded, store, text,
};

fn open(root: &std::path::Path, compression: Compression) -> DiskStore {
    DiskStore::open(Config { compression, ..config(root).0 }).unwrap()
}

#[test]
fn the_same_content_is_there_already_however_it_is_compressed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let plain = open(&root, Compression::Off);
    let small = open(&root, Compression::Zstd { level: 19 });
    assert!(matches!(small.write(&key(1), &entry(1)), Write::Published));
    assert!(matches!(plain.write(&key(1), &entry(1)), Write::AlreadyThere));
    assert!(loaded(&plain, 1).is_some());
}

#[test]
fn other_content_is_reported_and_the_first_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (config, warnings) = config(&directory.path().join("store"));
    let store = DiskStore::open(config).unwrap();
    let _ = store.write(&key(1), &entry(1));
    let other = Artifact::from("another lowering");
    assert!(matches!(store.write(&key(1), &other), Write::Conflicting));
    assert!(loaded(&store, 1).is_some());
    assert_eq!(store.statistics().conflicting, 1);
    let unpublished = std::fs::read_dir(directory.path().join("store/tmp")).unwrap();
    assert_eq!(unpublished.count(), 0);
    let warnings = warnings.lock().unwrap();
    assert!(warnings[0].contains(&key(1).to_string()), "{warnings:?}");
    for content in [text(1).as_bytes(), other.payload.as_bytes()] {
        let digest = format!("{:.12}", Digest::of_bytes(content));
        assert!(warnings[0].contains(&digest), "{warnings:?}");
    }
}

#[test]
fn a_local_entry_stands_over_an_imported_one_and_never_the_reverse() {
    let (store, _directory) = store();
    let imported = imported();
    assert!(matches!(store.write(&key(1), &imported), Write::Published));
    assert!(matches!(store.write(&key(1), &entry(1)), Write::PublishedOverImported));
    assert!(loaded(&store, 1).is_some());
    assert!(matches!(store.write(&key(1), &imported), Write::Conflicting));
    assert!(loaded(&store, 1).is_some());

    let mut other = Artifact::from("imported elsewhere");
    other.attributes.set(Attributes::ORIGIN, "another bundle");
    assert!(matches!(store.write(&key(2), &imported), Write::Published));
    assert!(matches!(store.write(&key(2), &other), Write::Conflicting));
}

#[test]
fn the_same_bytes_as_keys_of_two_kinds_name_two_entries() {
    let (store, _directory) = store();
    let module = ModuleKey::from_bytes(*key(1).as_bytes());
    let _ = store.write(&module, &CubinArtifact::new(*b"\x7fELF"));
    let _ = store.write(&key(1), &entry(1));
    assert!(loaded(&store, 1).is_some());
    let Read::Hit(found) = store.read(&module) else { panic!("the cubin is lost") };
    assert_eq!(*found.payload, *b"\x7fELF");
}

#[test]
fn all_that_is_known_of_an_entry_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let (config, _) = config(&directory.path().join("store"));
    let store = DiskStore::open(Config { producer: "a back end 1".into(), ..config }).unwrap();
    let mut kept = entry(1);
    kept.cost = Duration::from_nanos(123_456_789);
    kept.family = Some(Digest::from_bytes([5; 32]));
    kept.attributes
        .set_created(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789));
    kept.attributes.set("launch bounds", vec![0, 1, 255]);
    let _ = store.write(&key(1), &kept);
    kept.attributes.set(Attributes::PRODUCER, "a back end 1");
    assert_eq!(store.read(&key(1)).hit(), Some(kept));
}

#[test]
fn what_a_dead_process_left_is_swept_by_the_next_that_writes() {
    let (store, directory) = store();
    let tmp = directory.path().join("store/tmp");
    std::fs::create_dir(&tmp).unwrap();
    let leave = |name: &str, age| {
        let file = std::fs::File::create(tmp.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    leave("old", Duration::from_secs(2 * 60 * 60));
    leave("young", Duration::from_secs(60));
    let _ = store.write(&key(1), &entry(1));
    assert!(!tmp.join("old").exists() && tmp.join("young").exists());
    assert_eq!(store.statistics().swept, 1);
}

#[test]
fn a_use_is_noted_at_most_once_an_hour() {
    let (store, directory) = store();
    let _ = store.write(&key(1), &entry(1));
    let path = crate::fixture::path_of(&directory.path().join("store"), 1);
    let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let set = |age| {
        let time = SystemTime::now() - age;
        std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
        modified()
    };
    let recent = set(Duration::from_secs(60));
    assert!(loaded(&store, 1).is_some());
    assert_eq!(modified(), recent);
    let long_ago = set(Duration::from_secs(2 * 60 * 60));
    assert!(loaded(&store, 1).is_some());
    assert!(modified() > long_ago);
    let ahead = Duration::from_secs(2 * 60 * 60);
    let file = std::fs::File::open(&path).unwrap();
    file.set_modified(SystemTime::now() + ahead * 2).unwrap();
    assert!(loaded(&store, 1).is_some());
    assert!(modified() < SystemTime::now() + ahead, "a clock was wrong");
}

#[test]
fn an_entry_is_removed_once() {
    let (store, _directory) = store();
    assert!(!store.remove(&key(1)).unwrap());
    let _ = store.write(&key(1), &entry(1));
    assert!(store.remove(&key(1)).unwrap());
    assert!(!store.remove(&key(1)).unwrap());
    assert!(loaded(&store, 1).is_none());
}
