use std::fs;

use crate::Digest;

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

#[test]
fn times_permissions_and_empty_folders_do_not_count() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.h");
    fs::write(&path, "1").unwrap();
    let digest = Digest::of_folder(root.path()).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    assert_eq!(Digest::of_folder(root.path()).unwrap(), digest);
}

#[cfg(unix)]
#[test]
fn a_link_counts_by_what_it_leads_to() {
    let root = tempfile::tempdir().unwrap();
    let (real, linked) = (root.path().join("real"), root.path().join("linked"));
    for folder in [&real, &linked] {
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/a.h"), "1").unwrap();
    }
    fs::write(real.join("b.h"), "1").unwrap();
    std::os::unix::fs::symlink("sub/a.h", linked.join("b.h")).unwrap();
    assert_eq!(Digest::of_folder(&linked).unwrap(), Digest::of_folder(&real).unwrap());
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_end_at_once_in_an_error_that_names_one() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sub");
    fs::create_dir(&folder).unwrap();
    // With many of them, to follow each to a fixed depth would never end.
    for name in ["here", "here-too", "up"] {
        let target = if name == "up" { root.path() } else { &folder };
        std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    }
    let error = Digest::of_folder(root.path()).unwrap_err().to_string();
    assert!(error.contains("sub") && error.contains("it is a link to a folder"), "{error}");
}

#[test]
fn folders_nest_64_deep_and_no_deeper() {
    let root = tempfile::tempdir().unwrap();
    let deep = (0..64).fold(root.path().to_owned(), |folder, _| folder.join("d"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("a.h"), "1").unwrap();
    assert!(Digest::of_folder(root.path()).is_ok());
    fs::create_dir(deep.join("d")).unwrap();
    let error = Digest::of_folder(root.path()).unwrap_err().to_string();
    assert!(error.contains("64 deep"), "{error}");
}

#[test]
fn what_is_no_file_has_no_digest() {
    let root = tempfile::tempdir().unwrap();
    assert!(Digest::of_file(root.path()).unwrap_err().to_string().contains("not a file"));
    #[cfg(unix)]
    {
        let socket = root.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for error in [Digest::of_file(&socket), Digest::of_folder(root.path())] {
            let said = error.unwrap_err().to_string();
            assert!(said.contains("socket") && said.contains("not a file"), "{said}");
        }
    }
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
