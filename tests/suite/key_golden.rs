//! The golden vectors of `ptx-key`, recomputed by another language from the written specification.

use std::path::Path;
use std::process::Command;

use ptx_tests::python3;

#[test]
fn python_recomputes_every_vector_from_the_specification() {
    let Some(python) = python3() else { return };
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ptx-key/golden/recompute.py");
    let run = Command::new(python).arg(script).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("8 of 8 vectors agree"), "{said}");
}
