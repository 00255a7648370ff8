//! What an export replaces, what it leaves, and how bundles travel through pipes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptx_disk::{Bundle, Config, DiskStore, PtxArtifact, Store as _};
use ptx_key::PtxKey;
use tempfile::TempDir;

struct Place {
    directory: TempDir,
}

impl Place {
    /// A directory with a store of three texts.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = DiskStore::open(Config::new(directory.path().join("store"))).unwrap();
        for number in 0..3 {
            let key = PtxKey::from_bytes([number; 32]);
            store.store(&key, &PtxArtifact::from(format!("text {number}"))).unwrap();
        }
        Self { directory }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn ptx(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
        command.env_remove("PTX_CACHE_DIR").env_remove("PTX_CACHE");
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command.args(arguments).args(["--store", "store"]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.ptx(arguments).output().unwrap()
    }

    fn exports(&self, to: &str, more: &[&str]) {
        let output = self.run(&[&["export", to], more].concat());
        assert!(output.status.success(), "{to}: {}", said(&output));
        assert_eq!(keys(&self.at(to)), 3);
        self.left_nothing();
    }

    /// The export fails, and says each of `words`.
    fn refuses(&self, to: &str, more: &[&str], words: &[&str]) {
        let output = self.run(&[&["export", to], more].concat());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{to}: {said}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in {said}");
        }
        self.left_nothing();
    }

    /// No temporary file stays.
    fn left_nothing(&self) {
        let names = fs::read_dir(self.directory.path()).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.all(|name| !name.starts_with('.')));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn keys(bundle: &Path) -> usize {
    Bundle::open(bundle).unwrap().keys().len()
}

#[test]
fn a_bundle_is_replaced_and_another_file_only_by_force() {
    let place = Place::new();
    place.exports("bundle", &[]);
    place.exports("bundle", &["--name", "again"]);
    assert_eq!(Bundle::open(&place.at("bundle")).unwrap().name(), "again");
    // A bundle that was cut short is one of ours.
    let bytes = fs::read(place.at("bundle")).unwrap();
    fs::write(place.at("bundle"), &bytes[..20]).unwrap();
    place.exports("bundle", &[]);

    let entry = "store/entries-1/00";
    let entry = fs::read_dir(place.at(entry)).unwrap().next().unwrap().unwrap().path();
    let entry_bytes = fs::read(&entry).unwrap();
    for content in [b"my thesis".as_slice(), b"", &bytes[..7], &entry_bytes] {
        fs::write(place.at("file"), content).unwrap();
        place.refuses("file", &[], &["is another file", "--force"]);
        assert_eq!(fs::read(place.at("file")).unwrap(), content);
        place.exports("file", &["--force"]);
    }
    place.refuses(entry.to_str().unwrap(), &[], &["is another file"]);
    assert_eq!(fs::read(&entry).unwrap(), entry_bytes);
}

#[test]
fn links_directories_and_sockets_stay_even_with_force() {
    let place = Place::new();
    place.exports("bundle", &[]);
    let before = fs::read(place.at("bundle")).unwrap();
    fs::write(place.at("file"), "mine").unwrap();
    fs::create_dir(place.at("directory")).unwrap();
    let links = [
        ("to-file", "file"),
        ("to-bundle", "bundle"),
        ("to-directory", "directory"),
        ("to-nothing", "nothing"),
        ("to-itself", "to-itself"),
    ];
    for (link, target) in links {
        symlink(target, place.at(link)).unwrap();
    }
    let _socket = UnixListener::bind(place.at("socket")).unwrap();
    for more in [&[][..], &["--force"]] {
        for (link, target) in links {
            place.refuses(link, more, &["is a link", "name the file"]);
            assert_eq!(fs::read_link(place.at(link)).unwrap(), Path::new(target));
        }
        place.refuses("directory", more, &["is a directory"]);
        place.refuses("socket", more, &["is not a regular file"]);
        place.refuses("directory/..", more, &["is a directory"]);
        place.refuses("missing/bundle", more, &["No such file"]);
        place.refuses("file/bundle", more, &["Not a directory"]);
    }
    assert_eq!(fs::read_dir(place.at("directory")).unwrap().count(), 0);
    assert!(!place.at("nothing").exists());
    assert!(fs::symlink_metadata(place.at("socket")).unwrap().file_type().is_socket());
    assert_eq!(fs::read_to_string(place.at("file")).unwrap(), "mine");
    assert_eq!(fs::read(place.at("bundle")).unwrap(), before);
}

#[test]
fn permissions_follow_the_umask() {
    let place = Place::new();
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664), ("000", 0o666)] {
        for arguments in ["bundle", "--text texts", "bundle --force"] {
            let script = format!("umask {umask}; exec \"$0\" export {arguments} --store store");
            let mut shell = Command::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_ptx")]);
            let output = shell.current_dir(place.directory.path()).output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
        }
        let text = format!("texts/{}.ptx", PtxKey::from_bytes([1; 32]));
        for name in ["bundle", &text] {
            let found = fs::metadata(place.at(name)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{name} under umask {umask}");
        }
    }
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let place = Place::new();
    place.exports("bundle", &[]);
    let before = fs::read(place.at("bundle")).unwrap();
    let name = "n".repeat(256);
    place.refuses("bundle", &["--name", &name], &["at most 255 bytes"]);
    place.refuses("new", &["--name", &name], &["at most 255 bytes"]);
    assert_eq!(fs::read(place.at("bundle")).unwrap(), before);
    assert!(!place.at("new").exists());
}

#[test]
fn a_bundle_flows_through_standard_streams_and_fifos() {
    let place = Place::new();
    place.exports("bundle", &[]);
    let expected = fs::read(place.at("bundle")).unwrap();
    for to in ["-", "/dev/stdout", "/proc/self/fd/1"] {
        if to.starts_with('/') && !Path::new(to).exists() {
            continue;
        }
        let output = place.run(&["export", to]);
        assert!(output.status.success(), "{to}: {}", said(&output));
        assert!(output.stdout == expected && said(&output).contains("3 entries"), "{to}");
        let file = fs::File::create(place.at("redirected")).unwrap();
        assert!(place.ptx(&["export", to]).stdout(file).status().unwrap().success(), "{to}");
        assert_eq!(fs::read(place.at("redirected")).unwrap(), expected, "{to}");
    }

    assert!(Command::new("mkfifo").arg(place.at("fifo")).status().unwrap().success());
    symlink("fifo", place.at("to-fifo")).unwrap();
    for to in ["fifo", "to-fifo"] {
        let writer = place.ptx(&["export", to]).stdout(Stdio::null()).spawn();
        let read = fs::read(place.at("fifo")).unwrap();
        assert!(writer.unwrap().wait().unwrap().success());
        assert_eq!(read, expected);
    }
    assert!(fs::symlink_metadata(place.at("fifo")).unwrap().file_type().is_fifo());

    let from_fifo = place.ptx(&["import", "fifo"]).stdout(Stdio::piped()).spawn().unwrap();
    fs::write(place.at("fifo"), &expected).unwrap();
    let output = from_fifo.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("3 were there already"));
}

#[test]
fn import_and_verify_read_a_stream_and_refuse_what_is_no_bundle() {
    let place = Place::new();
    place.exports("bundle", &[]);
    let bundle = fs::read(place.at("bundle")).unwrap();
    let fed = |arguments: &[&str], bytes: &[u8]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptx"));
        command.current_dir(place.directory.path()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(bytes);
        child.wait_with_output().unwrap()
    };
    let output = fed(&["import", "-", "--store", "other"], &bundle);
    assert!(String::from_utf8_lossy(&output.stdout).contains("3 entries added"), "{output:?}");
    let output = fed(&["verify", "--bundle", "-"], &bundle);
    assert!(String::from_utf8_lossy(&output.stdout).contains("3 entries are whole"), "{output:?}");
    for wrong in [b"".as_slice(), b"no bundle", &bundle[..8], &bundle[..bundle.len() - 1]] {
        let output = fed(&["import", "-", "--store", "none"], wrong);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains("`-` gives is not a bundle"), "{}", said(&output));
        assert!(!place.at("none").exists());
    }
    let output = place.run(&["import", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("`/dev/zero` gives is not a bundle"), "{}", said(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_take_a_stream_and_stay_devices() {
    let place = Place::new();
    for more in [&[][..], &["--force"]] {
        let output = place.run(&[&["export", "/dev/null"], more].concat());
        assert!(output.status.success(), "{}", said(&output));
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        place.refuses("/dev/full", more, &["No space"]);
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
}

#[test]
fn exported_texts_replace_only_files_of_the_same_content() {
    let place = Place::new();
    let export = |more: &[&str]| place.run(&[&["export", "--text", "texts"], more].concat());
    assert!(export(&[]).status.success());
    assert!(export(&[]).status.success());
    let text = place.at("texts").join(format!("{}.ptx", PtxKey::from_bytes([1; 32])));
    fs::write(&text, "edited").unwrap();
    let output = export(&[]);
    assert!(!output.status.success() && said(&output).contains("--force"), "{}", said(&output));
    assert_eq!(fs::read_to_string(&text).unwrap(), "edited");
    assert!(export(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(&text).unwrap(), "text 1");

    fs::remove_file(&text).unwrap();
    assert!(Command::new("mkfifo").arg(&text).status().unwrap().success());
    assert!(!export(&["--force"]).status.success());
    fs::remove_file(&text).unwrap();
    fs::write(place.at("mine"), "mine").unwrap();
    symlink(place.at("mine"), &text).unwrap();
    assert!(!export(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(place.at("mine")).unwrap(), "mine");
}
