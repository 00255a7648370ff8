//! Tools that say they are `ptxas` and do what a real one does on a bad day.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::*;

const DEVICE: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// Where a script is open for writing, in a process that another thread starts, it cannot be
/// run: so one test at a time has one.
static SCRIPTS: Mutex<()> = Mutex::new(());

/// Copies the text behind the header of a cubin.
pub(crate) const ASSEMBLES: &str = "cat \"${0%/*}/header\" module.ptx >module.cubin";

/// A folder with a script that says it is `ptxas`.
pub(crate) struct Tool {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Tool {
    /// One that does this in place of an assembly.
    pub(crate) fn that(assembly: &str) -> Self {
        let alone = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
        let tool = Self { folder: tempfile::tempdir().unwrap(), _alone: alone };
        fs::write(tool.folder.path().join("header"), crate::cubin::smallest(90, b"")).unwrap();
        tool.becomes(assembly);
        tool
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(OsStr::from_bytes(b"no UTF-8 \xff"))
    }

    pub(crate) fn ptxas(&self) -> Ptxas {
        Ptxas::new(&self.path()).unwrap()
    }

    /// Puts another tool in its place.
    pub(crate) fn becomes(&self, assembly: &str) {
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then\n    \
             echo 'Ptx assembler, release 13.5, V13.5.1'\n    exit\nfi\n{assembly}\n"
        );
        let new = self.folder.path().join("new");
        fs::write(&new, script).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(new, self.path()).unwrap();
    }
}

fn text(kernel: &str) -> Ptx {
    Ptx::new(format!(".version 9.0\n.target sm_90\n.entry {kernel}() {{ ret; }}\n")).unwrap()
}

fn assemble(ptxas: &Ptxas) -> Result<Assembled, CudaError> {
    ptxas.assemble(&text("a"), DEVICE, &JitOptions::default())
}

#[test]
fn many_threads_have_files_of_their_own() {
    // What reads its input finds the end, and not the terminal.
    let tool = Tool::that(&format!("cat >/dev/null; {ASSEMBLES}"));
    let ptxas = tool.ptxas();
    thread::scope(|scope| {
        for number in 0..8 {
            let ptxas = &ptxas;
            scope.spawn(move || {
                let text = text(&format!("kernel_{number}"));
                let made = ptxas.assemble(&text, DEVICE, &JitOptions::default()).unwrap();
                assert!(made.cubin.image().ends_with(text.text().as_bytes()));
            });
        }
    });
}

#[test]
fn a_tool_that_was_killed_is_no_verdict_and_its_end_is_told() {
    for said in ["", "echo 'ptxas info    : 0 bytes gmem' >&2; "] {
        let error = assemble(&Tool::that(&format!("{said}kill -9 $$")).ptxas()).unwrap_err();
        assert!(!error.is_permanent() && error.to_string().contains("signal: 9"), "{error}");
    }
}

#[test]
fn a_tool_that_ends_well_without_a_cubin_is_said_to_leave_none() {
    for (does, expected) in
        [("true", "left no cubin: No such"), ("echo no ELF >module.cubin", "left no cubin")]
    {
        let tool = Tool::that(does);
        let said = assemble(&tool.ptxas()).unwrap_err().to_string();
        assert!(said.contains(&tool.path().display().to_string()), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

/// Its cubins would be kept under the old one's keys.
#[test]
fn a_tool_that_was_replaced_is_not_run_under_its_old_digest() {
    let tool = Tool::that(ASSEMBLES);
    let ptxas = tool.ptxas();
    assemble(&ptxas).unwrap();
    tool.becomes(&format!("{ASSEMBLES}; echo upgraded"));
    let error = assemble(&ptxas).unwrap_err();
    assert!(!error.is_permanent() && error.to_string().contains("replaced"), "{error}");
    assert!(assemble(&tool.ptxas()).is_ok());
}

#[test]
fn a_folder_is_no_tool() {
    let tool = Tool::that("");
    let error = Ptxas::new(tool.folder.path()).unwrap_err();
    let error: &dyn std::error::Error = &error;
    let chain = std::iter::successors(Some(error), |error| error.source());
    let said = chain.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(said.contains("not a file") && said.contains("PyPI"), "{said}");
}
