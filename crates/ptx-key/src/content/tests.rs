use std::error::Error as _;
use std::fs;

use crate::{Digest, KeyError};

/// The error chain as a program prints it. No message repeats its source.
fn chain(error: &KeyError) -> String {
    let (message, source) = (error.to_string(), error.source().unwrap().to_string());
    assert!(!message.contains(&source), "{message}");
    format!("{message}: {source}")
}

#[test]
fn a_files_digest_is_its_plain_sha256() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "abc").unwrap();
    let digest = Digest::of_file(&path).unwrap();
    let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), published);
    let long = vec![7_u8; 1 << 20];
    fs::write(&path, &long).unwrap();
    assert_eq!(Digest::of_file(&path).unwrap(), Digest::of_bytes(&long));
}

#[test]
fn a_directory_is_its_names_and_contents_and_not_its_path() {
    let root = tempfile::tempdir().unwrap();
    let make = |name: &str, files: &[(&str, &str)]| {
        let directory = root.path().join(name);
        for (file, content) in files {
            let path = directory.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Digest::of_directory(&directory).unwrap()
    };
    let files = [("a.h", "1"), ("sub/b.h", "2")];
    let digest = make("here", &files);
    assert_eq!(digest, make("elsewhere", &[files[1], files[0]]));
    assert_ne!(digest, make("content", &[("a.h", "1"), ("sub/b.h", "3")]));
    assert_ne!(digest, make("name", &[("a.h", "1"), ("sub/c.h", "2")]));
    assert_ne!(digest, make("more", &[("a.h", "1"), ("sub/b.h", "2"), ("c.h", "")]));
    assert_ne!(digest, make("moved", &[("sub/a.h", "1"), ("sub/b.h", "2")]));
}

#[test]
fn times_permissions_and_empty_directories_do_not_count() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.h");
    fs::write(&path, "1").unwrap();
    let digest = Digest::of_directory(root.path()).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    assert_eq!(Digest::of_directory(root.path()).unwrap(), digest);
}

#[cfg(unix)]
#[test]
fn a_link_counts_as_its_target() {
    let root = tempfile::tempdir().unwrap();
    let (real, linked) = (root.path().join("real"), root.path().join("linked"));
    for directory in [&real, &linked] {
        fs::create_dir_all(directory.join("sub")).unwrap();
        fs::write(directory.join("sub/a.h"), "1").unwrap();
    }
    fs::write(real.join("b.h"), "1").unwrap();
    std::os::unix::fs::symlink("sub/a.h", linked.join("b.h")).unwrap();
    assert_eq!(Digest::of_directory(&linked).unwrap(), Digest::of_directory(&real).unwrap());
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_are_an_error_at_once() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("sub");
    fs::create_dir(&directory).unwrap();
    // With three links, to follow each to the largest depth would never end.
    for name in ["here", "here-too", "up"] {
        let target = if name == "up" { root.path() } else { &directory };
        std::os::unix::fs::symlink(target, directory.join(name)).unwrap();
    }
    let said = chain(&Digest::of_directory(root.path()).unwrap_err());
    assert!(said.contains("sub") && said.contains("this link leads back"), "{said}");
}

#[test]
fn directories_nest_64_deep_and_no_deeper() {
    let root = tempfile::tempdir().unwrap();
    let deep = (0..64).fold(root.path().to_owned(), |directory, _| directory.join("d"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("a.h"), "1").unwrap();
    assert!(Digest::of_directory(root.path()).is_ok());
    fs::create_dir(deep.join("d")).unwrap();
    let said = chain(&Digest::of_directory(root.path()).unwrap_err());
    assert!(said.contains("64 deep"), "{said}");
}

#[test]
fn only_files_and_directories_have_a_digest() {
    let root = tempfile::tempdir().unwrap();
    assert!(chain(&Digest::of_file(root.path()).unwrap_err()).contains("not a file"));
    #[cfg(unix)]
    {
        let socket = root.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for error in [Digest::of_file(&socket), Digest::of_directory(root.path())] {
            let said = chain(&error.unwrap_err());
            assert!(said.contains("socket") && said.contains("not a file"), "{said}");
        }
    }
}

#[test]
fn the_error_names_a_missing_path_and_says_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    for digest in [Digest::of_file(&missing), Digest::of_directory(&missing)] {
        let said = chain(&digest.unwrap_err());
        assert!(said.contains("missing") && said.contains("check that it exists"), "{said}");
    }
}
