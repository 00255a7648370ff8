//! The golden vectors of `ptx-key`, recomputed by another language from the written specification.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ptx_tests::python3;
use serde_json::Value;

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ptx-key/golden").join(file)
}

fn recompute(python: &Path, script: &Path) -> Output {
    Command::new(python).arg(script).output().unwrap()
}

#[test]
fn python_recomputes_every_vector_from_the_specification() {
    let Some(python) = python3() else { return };
    let text = std::fs::read_to_string(golden("vectors.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let count: usize =
        ["lowerings", "folders"].map(|kind| vectors[kind].as_array().unwrap().len()).iter().sum();
    let run = recompute(&python, &golden("recompute.py"));
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains(&format!("{count} of {count} vectors agree")), "{said}");
}

#[test]
fn python_notices_one_digit_of_one_vector() {
    let Some(python) = python3() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("recompute.py");
    std::fs::copy(golden("recompute.py"), &script).unwrap();
    let text = std::fs::read_to_string(golden("vectors.json")).unwrap();
    let mut vectors: Value = serde_json::from_str(&text).unwrap();
    let key = &mut vectors["lowerings"][0]["expected"]["ptx_key"];
    let digits = key.as_str().unwrap();
    let other = if digits.starts_with('0') { "1" } else { "0" };
    *key = format!("{other}{}", &digits[1..]).into();
    let changed = vectors.to_string();
    std::fs::write(folder.path().join("vectors.json"), changed).unwrap();
    let run = recompute(&python, &script);
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("lowerings, `smallest`"), "{said}");
}
