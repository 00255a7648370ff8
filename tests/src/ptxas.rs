//! The real `ptxas`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Requirement;

/// The assembler, by `PTXAS` or where `cargo xtask test` puts it.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
}

/// Why there is no cubin.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// The assembler could not be run, or its files not be written or read.
    #[error("cannot run `{}`: {source}", path.display())]
    CannotRun {
        /// The assembler.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// The assembler refused the text.
    #[error("ptxas refused the text: {said}")]
    Refused {
        /// What it said.
        said: String,
    },
}

impl Ptxas {
    /// The assembler, or `None` after saying that the test is skipped.
    pub fn find() -> Option<Self> {
        let provided = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/ptxas");
        let path = std::env::var_os("PTXAS").map_or(provided, PathBuf::from);
        if Command::new(&path).arg("--version").output().is_ok_and(|run| run.status.success()) {
            Some(Self { path })
        } else {
            let why = format!(
                "no ptxas at `{}`; `cargo xtask test` fetches one, or set PTXAS",
                path.display()
            );
            Requirement::Ptxas.skip(&why)
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Assembles `text` for `arch`, such as `sm_90a`.
    ///
    /// # Errors
    ///
    /// [`AssemblyError::Refused`] with what the assembler said.
    pub fn assemble(&self, text: &str, arch: &str) -> Result<Vec<u8>, AssemblyError> {
        let cannot_run = |source| AssemblyError::CannotRun { path: self.path.clone(), source };
        let folder = tempfile::tempdir().map_err(cannot_run)?;
        let (source, cubin) =
            (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
        std::fs::write(&source, text).map_err(cannot_run)?;
        let run = Command::new(&self.path)
            .arg(format!("-arch={arch}"))
            .arg(&source)
            .arg("-o")
            .arg(&cubin)
            .output()
            .map_err(cannot_run)?;
        if run.status.success() {
            std::fs::read(&cubin).map_err(cannot_run)
        } else {
            let said = [run.stdout, run.stderr].concat();
            Err(AssemblyError::Refused { said: String::from_utf8_lossy(&said).into_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_KERNEL: &str =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { ret; }\n";

    #[test]
    fn many_threads_assemble_at_once() {
        let Some(ptxas) = Ptxas::find() else { return };
        std::thread::scope(|scope| {
            let assemble = |arch| ptxas.assemble(EMPTY_KERNEL, arch);
            let threads =
                ["sm_80", "sm_90a", "sm_120"].map(|arch| scope.spawn(move || assemble(arch)));
            for thread in threads {
                assert!(thread.join().unwrap().unwrap().starts_with(b"\x7fELF"));
            }
        });
    }

    #[test]
    fn a_refusal_says_what_the_assembler_said() {
        let Some(ptxas) = Ptxas::find() else { return };
        let refused = ptxas.assemble(&EMPTY_KERNEL.replace("ret;", "rot;"), "sm_80").unwrap_err();
        let AssemblyError::Refused { said } = refused else { panic!("{refused}") };
        assert!(said.contains("rot") && said.contains("line 4"), "{said}");
    }

    #[test]
    fn an_assembler_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ptxas = Ptxas { path: folder.path().join("no-such-ptxas") };
        let error = ptxas.assemble(EMPTY_KERNEL, "sm_80").unwrap_err().to_string();
        assert!(error.contains("no-such-ptxas"), "{error}");
    }
}
