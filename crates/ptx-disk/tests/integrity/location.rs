//! Directories that may and may not be used.

use std::fs;
use std::path::Path;

use ptx_disk::{Claim, Config, DiskError, DiskStore, Mode, Store as _};

use crate::fixture::{Details as _, Read, Write, config, entry, key, loaded};

fn open(root: &Path, mode: Mode) -> Result<DiskStore, DiskError> {
    DiskStore::open(Config { mode, ..config(root).0 })
}

#[test]
fn missing_parents_are_created_and_backups_are_told_to_skip_them() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/b/store");
    let _ = open(&root, Mode::ReadWrite).unwrap();
    let tag = fs::read_to_string(root.join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
}

#[test]
fn a_path_that_is_a_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "text").unwrap();
    for root in [file.clone(), file.join("below")] {
        let error = open(&root, Mode::ReadWrite).unwrap_err();
        assert!(matches!(&error, DiskError::NotADirectory { path } if *path == root), "{error}");
        assert!(error.to_string().contains(root.to_str().unwrap()));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
}

#[test]
fn a_relative_path_is_an_error() {
    let error = open(Path::new("store"), Mode::ReadWrite).unwrap_err();
    assert!(matches!(error, DiskError::BadSetting { name: "root", .. }), "{error}");
}

#[test]
#[cfg(unix)]
fn directories_that_others_could_write_are_refused_unless_shared() {
    use std::os::unix::fs::{PermissionsExt as _, chown};

    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    fs::create_dir(&root).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(open(&root, Mode::ReadWrite), Err(DiskError::WritableByAll { .. })));
    assert!(matches!(open(&root, Mode::ReadOnly), Err(DiskError::WritableByAll { .. })));
    let shared = Config { shared: true, ..config(&root).0 };
    let store = DiskStore::open(shared.clone()).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&root), 0o777, "what was there keeps its mode");
    assert_eq!(mode(&root.join("entries-1")), 0o2770);
    assert_eq!(mode(&crate::fixture::path_of(&root, 1)), 0o660);

    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    if chown(&root, Some(12345), None).is_ok() {
        assert!(matches!(open(&root, Mode::ReadWrite), Err(DiskError::OwnedByAnother { .. })));
        assert!(DiskStore::open(shared).is_ok());
    } else {
        eprintln!("skipped: only root may give a directory away");
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_a_directory_is_as_good_as_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let store = open(&link, Mode::ReadWrite).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&open(&real, Mode::ReadWrite).unwrap(), 1).is_some());
}

fn everything_below(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything_below(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_read_only_store_reads_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let writer = open(&root, Mode::ReadWrite).unwrap();
    for number in [1, 2] {
        let _ = writer.write(&key(number), &entry(number));
    }
    fs::write(crate::fixture::path_of(&root, 2), "damaged").unwrap();
    let before = everything_below(&root);
    let reader = open(&root, Mode::ReadOnly).unwrap();
    assert!(loaded(&reader, 1).is_some());
    assert!(matches!(reader.read(&key(2)), Read::Damaged(_)));
    assert!(matches!(reader.write(&key(3), &entry(3)), Write::Skipped));
    assert!(matches!(reader.claim(&key(3)), Ok(Claim::NotCoordinated)));
    assert!(!reader.remove(&key(1)).unwrap());
    assert_eq!(reader.sweep().unwrap(), 0);
    assert_eq!(everything_below(&root), before);

    let nowhere = directory.path().join("nowhere");
    assert!(matches!(open(&nowhere, Mode::ReadOnly).unwrap().read(&key(1)), Read::Miss));
    assert!(!nowhere.exists());
}

#[test]
fn a_store_that_is_off_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = open(&root, Mode::Off).unwrap();
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Skipped));
    assert!(matches!(store.read(&key(1)), Read::Miss));
    assert!(matches!(store.claim(&key(1)), Ok(Claim::NotCoordinated)));
    assert!(!root.exists());

    let (config, warnings) = config(&root);
    let _ = DiskStore::open(Config { root: None, ..config }).unwrap();
    assert_eq!(warnings.lock().unwrap().len(), 1, "no location is a warning");
}
