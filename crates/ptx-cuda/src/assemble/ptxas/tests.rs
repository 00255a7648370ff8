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

/// A directory with a script that says it is `ptxas`.
pub(crate) struct Tool {
    directory: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Tool {
    /// One that does this in place of an assembly.
    pub(crate) fn that(assembly: &str) -> Self {
        let alone = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
        let tool = Self { directory: tempfile::tempdir().unwrap(), _alone: alone };
        fs::write(tool.directory.path().join("header"), crate::assemble::smallest_cubin(90, b""))
            .unwrap();
        tool.becomes(assembly);
        tool
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join(OsStr::from_bytes(b"no UTF-8 \xff"))
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
        let new = self.directory.path().join("new");
        fs::write(&new, script).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(new, self.path()).unwrap();
    }
}

fn text(kernel: &str) -> Ptx {
    Ptx::new(format!(".version 9.0\n.target sm_90\n.entry {kernel}() {{ ret; }}\n")).unwrap()
}

/// The messages of an error and of its sources.
fn chain(error: &CudaError) -> String {
    let first: &dyn std::error::Error = error;
    let errors = std::iter::successors(Some(first), |error| error.source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn assemble(ptxas: &Ptxas) -> Result<Assembled, CudaError> {
    ptxas.assemble(&text("a"), DEVICE, &JitOptions::default())
}

#[test]
fn threads_do_not_share_files() {
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
fn a_tool_that_was_killed_is_no_permanent_refusal_and_the_error_says_how_it_ended() {
    for said in ["", "echo 'ptxas info    : 0 bytes gmem' >&2; "] {
        let error = assemble(&Tool::that(&format!("{said}kill -9 $$")).ptxas()).unwrap_err();
        assert!(!error.is_permanent() && error.to_string().contains("signal: 9"), "{error}");
    }
}

#[test]
fn an_error_says_that_a_tool_left_no_cubin() {
    for (does, expected) in
        [("true", "left no cubin: No such"), ("echo no ELF >module.cubin", "left no cubin")]
    {
        let tool = Tool::that(does);
        let said = chain(&assemble(&tool.ptxas()).unwrap_err());
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
fn a_directory_is_no_tool() {
    let tool = Tool::that("");
    let said = chain(&Ptxas::new(tool.directory.path()).unwrap_err());
    assert!(said.contains("not a file") && said.contains("PyPI"), "{said}");
}
