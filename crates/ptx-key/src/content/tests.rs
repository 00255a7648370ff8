use std::fs;

use crate::{Digest, KeyError};

#[test]
fn a_files_digest_is_its_plain_sha256() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "abc").unwrap();
    let digest = Digest::of_file(&path).unwrap();
    let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), published);
    let long = vec![7_u8; 1 << 20];
    fs::write(&path, &long).unwrap();
    assert_eq!(Digest::of_file(&path).unwrap(), Digest::of_bytes(&long));
}

#[test]
fn a_folder_is_its_names_and_contents_wherever_it_lies() {
    let root = tempfile::tempdir().unwrap();
    let make = |name: &str, files: &[(&str, &str)]| {
        let folder = root.path().join(name);
        for (file, content) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Digest::of_folder(&folder).unwrap()
    };
    let files = [("a.h", "1"), ("sub/b.h", "2")];
    let digest = make("here", &files);
    assert_eq!(digest, make("elsewhere", &[files[1], files[0]]));
    assert_ne!(digest, make("content", &[("a.h", "1"), ("sub/b.h", "3")]));
    assert_ne!(digest, make("name", &[("a.h", "1"), ("sub/c.h", "2")]));
    assert_ne!(digest, make("more", &[("a.h", "1"), ("sub/b.h", "2"), ("c.h", "")]));
    assert_ne!(digest, make("moved", &[("sub/a.h", "1"), ("sub/b.h", "2")]));
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_ends_in_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root.path(), root.path().join("again")).unwrap();
    let error = Digest::of_folder(root.path()).unwrap_err();
    assert!(matches!(error, KeyError::Unreadable { .. }), "{error}");
}

#[test]
fn what_is_missing_is_named() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    for error in [Digest::of_file(&missing).unwrap_err(), Digest::of_folder(&missing).unwrap_err()]
    {
        assert!(error.to_string().contains("missing"), "{error}");
    }
}
