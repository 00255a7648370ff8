#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn what_it_makes_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let storage = OsStorage::new();
    storage.create_directory(&at("directory")).unwrap();
    storage.create_file(&at("file")).unwrap();
    storage.open_or_create_file(&at("lock")).unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("directory"), mode("file"), mode("lock")], [0o700, 0o600, 0o600]);
}

#[test]
fn a_group_shares_what_is_made_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let storage = OsStorage::for_group();
    storage.create_directory(&at("directory")).unwrap();
    storage.create_file(&at("file")).unwrap();
    storage.open_or_create_file(&at("lock")).unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("directory"), mode("file"), mode("lock")], [0o2770, 0o660, 0o660]);
}

#[test]
fn links_are_not_followed_and_pipes_do_not_block() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
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
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
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
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
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

/// Where a group shares a store, whoever uses an entry says so, not only who wrote it.
#[test]
#[cfg(target_os = "linux")]
fn the_present_time_can_be_given_to_a_file_of_another_user_that_the_group_may_write() {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can act for another user");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (path, group) = (directory.path().join("file"), Gid::from_raw(12_345));
    let file = OsStorage::for_group().create_file(&path).unwrap();
    std::os::unix::fs::chown(&path, None, Some(group.as_raw())).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let touch = || {
        // The thread alone becomes another user.
        let (user, present) = (Uid::from_raw(54_321), SystemTime::now());
        set_thread_groups(&[group]).unwrap();
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
        let file = OsStorage::for_group().open_file(&path).unwrap();
        let long_ago = present - Duration::from_secs(1000);
        assert!(file.set_modified(long_ago).is_err(), "only its owner may do that");
        file.set_modified(present).unwrap();
    };
    thread::scope(|scope| scope.spawn(touch).join().unwrap());
    let modified = file.metadata().unwrap().modified;
    assert!(modified > SystemTime::now() - Duration::from_secs(100));
}
