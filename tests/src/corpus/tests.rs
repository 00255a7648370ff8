use std::fs;
use std::io::Write as _;

use lzma_rust2::{XzOptions, XzWriter};

use super::*;

const FIRST: &str = "aaaaaaaaaaaaaaaaaaaaaaaa01";
const SECOND: &str = "bbbbbbbbbbbbbbbbbbbbbbbb02";

struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    fn new(manifest: &str, texts: &[(&str, &str)], trace: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = tar::Builder::new(Vec::new());
        for (digest, text) in texts {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            let path = format!("ptx/{}.ptx", &digest[..24]);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        fs::write(folder.path().join("manifest.json"), manifest).unwrap();
        fs::write(folder.path().join("ptx.tar.xz"), packed(&archive.into_inner().unwrap()))
            .unwrap();
        fs::write(folder.path().join("launch_trace.tsv.xz"), packed(trace.as_bytes())).unwrap();
        Self { folder }
    }

    fn corpus(&self) -> Corpus {
        Corpus { folder: self.folder.path().to_owned() }
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn entry(digest: &str) -> String {
    format!(r#"{{"sha256":"{digest}","name":"k","cubin_bytes":7,"ptxas_ms":1.5}}"#)
}

fn manifest(entries: &[String]) -> String {
    format!(r#"{{"ptx":[{}]}}"#, entries.join(","))
}

fn complaint(manifest: &str, texts: &[(&str, &str)]) -> String {
    Made::new(manifest, texts, "").corpus().ptx_files().unwrap_err().to_string()
}

#[test]
fn files_are_sorted_by_digest() {
    let manifest = manifest(&[entry(SECOND), entry(FIRST)]);
    let made = Made::new(&manifest, &[(SECOND, "two"), (FIRST, "one")], "");
    let files = made.corpus().ptx_files().unwrap();
    let found: Vec<(&str, &str)> = files.iter().map(|it| (&*it.sha256, &*it.text)).collect();
    assert_eq!(found, [(FIRST, "one"), (SECOND, "two")]);
    assert_eq!((files[0].name.as_str(), files[0].cubin_bytes), ("k", 7));
}

#[test]
fn a_manifest_that_does_not_fit_the_archive_is_named_with_what_is_wrong() {
    let both = [(FIRST, "one"), (SECOND, "two")];
    let lists_one = manifest(&[entry(FIRST)]);
    assert!(complaint(&lists_one, &both).contains(&SECOND[..24]));
    assert!(complaint(&lists_one, &[]).contains(FIRST));
    assert!(complaint(&manifest(&[entry("short")]), &[]).contains("short"));
    assert!(complaint(r#"{"ptx":[{"name":"k"}]}"#, &[]).contains("lacks a field"));
    assert!(complaint("{}", &[]).contains("no list `ptx`"));
    assert!(complaint("no JSON", &[]).contains("manifest.json"));
}

#[test]
fn an_archive_that_is_missing_or_cut_short_is_named() {
    let made = Made::new(&manifest(&[entry(FIRST)]), &[(FIRST, "one")], "");
    let archive = made.folder.path().join("ptx.tar.xz");
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let error = made.corpus().ptx_files().unwrap_err().to_string();
    assert!(error.contains("ptx.tar.xz"), "{error}");
    fs::remove_file(&archive).unwrap();
    let error = made.corpus().ptx_files().unwrap_err().to_string();
    assert!(error.contains("ptx.tar.xz"), "{error}");
}

#[test]
fn launches_are_read_in_order_and_a_broken_line_is_named() {
    let made = Made::new("{}", &[], "bert\teager\t2.5\tb\nbert\teager\t1\ta\n");
    let launches = made.corpus().launches().unwrap();
    let launch = |start_us, kernel: &str| Launch {
        model: "bert".to_owned(),
        mode: "eager".to_owned(),
        start_us,
        kernel: kernel.to_owned(),
    };
    assert_eq!(launches, [launch(2.5, "b"), launch(1.0, "a")]);
    let made = Made::new("{}", &[], "bert\teager\tsoon\tb\n");
    let error = made.corpus().launches().unwrap_err().to_string();
    assert!(error.contains("soon"), "{error}");
}
