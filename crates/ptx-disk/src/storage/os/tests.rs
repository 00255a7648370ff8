#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn what_it_makes_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let storage = OsStorage::new();
    storage.create_folder(&at("folder")).unwrap();
    storage.create_file(&at("file")).unwrap();
    storage.open_or_create_file(&at("lock")).unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("folder"), mode("file"), mode("lock")], [0o700, 0o600, 0o600]);
}

#[test]
fn a_group_shares_what_is_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let storage = OsStorage::for_group();
    storage.create_folder(&at("folder")).unwrap();
    storage.create_file(&at("file")).unwrap();
    storage.open_or_create_file(&at("lock")).unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("folder"), mode("file"), mode("lock")], [0o2770, 0o660, 0o660]);
}

#[test]
fn links_are_not_followed_and_pipes_do_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let storage = OsStorage::new();
    fs::write(at("target"), "text").unwrap();
    symlink(at("target"), at("link")).unwrap();
    assert!(storage.open_file(&at("link")).is_err());
    assert!(storage.open_or_create_file(&at("link")).is_err());
    assert_eq!(storage.metadata(&at("link")).unwrap().kind, FileKind::Other);

    let pipe = at("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let opened = storage.open_file(&pipe).unwrap();
    assert_eq!(opened.metadata().unwrap().kind, FileKind::Other);
}

#[test]
fn every_way_to_rename_without_replacing_refuses_a_taken_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old"), "old").unwrap();
    fs::write(at("new"), "new").unwrap();
    for refuse in [system::rename_new, |from: &Path, to: &Path| fs::hard_link(from, to)] {
        let error = refuse(&at("new"), &at("old")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(!unavailable(&error));
    }
    assert_eq!(fs::read_to_string(at("old")).unwrap(), "old");
}

#[test]
#[cfg(target_os = "linux")]
fn network_file_systems_are_known_by_name() {
    assert_eq!(system::network_name(0x6969), Some("NFS"));
    assert_eq!(system::network_name(0xEF53), None, "ext4");
}

#[test]
fn a_lock_goes_when_it_is_dropped_though_a_forked_process_has_the_file_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let open = || {
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        OsFile { file: file.unwrap(), locked: AtomicBool::new(false) }
    };
    let held = open();
    assert!(held.try_lock().unwrap());
    // What a fork leaves the child: the same opening.
    let _of_the_child = held.file.try_clone().unwrap();
    drop(held);
    assert!(open().try_lock().unwrap());
}
