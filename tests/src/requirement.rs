//! What a test may need that a machine may lack.

use std::path::PathBuf;
use std::process::Command;

/// Something that is not part of the project. `PTX_REQUIRE` lists the names of those that must be
/// there: then lacking one fails the test that needs it, as in CI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The corpus of real PTX: `corpus`.
    Corpus,
    /// The assembler: `ptxas`.
    Ptxas,
    /// Python 3: `python`.
    Python,
    /// A CUDA device: `gpu`.
    Gpu,
    /// The examples, built beside the tests: `examples`.
    Examples,
}

impl Requirement {
    /// The name that `PTX_REQUIRE` knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corpus => "corpus",
            Self::Ptxas => "ptxas",
            Self::Python => "python",
            Self::Gpu => "gpu",
            Self::Examples => "examples",
        }
    }

    /// Says on standard error that a test is skipped, and why. Always `None`, so that a test can
    /// end with `else { return }`.
    ///
    /// # Panics
    ///
    /// Where `PTX_REQUIRE` says that it must be there.
    pub fn skip<T>(self, why: &str) -> Option<T> {
        let required = std::env::var("PTX_REQUIRE").unwrap_or_default();
        assert!(!self.is_among(&required), "{} is required by PTX_REQUIRE: {why}", self.name());
        eprintln!("skipped: {why}");
        None
    }

    fn is_among(self, names: &str) -> bool {
        names.split(',').any(|name| name.trim() == self.name())
    }
}

/// The Python 3 interpreter, or `None` after saying that the test is skipped.
pub fn python3() -> Option<PathBuf> {
    let version = Command::new("python3").arg("--version").output();
    match version {
        Ok(output) if output.status.success() => Some(PathBuf::from("python3")),
        _ => Requirement::Python.skip("no python3 on the PATH"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_what_is_required() {
        let list = "corpus, gpu";
        assert!(Requirement::Corpus.is_among(list) && Requirement::Gpu.is_among(list));
        assert!(!Requirement::Ptxas.is_among(list) && !Requirement::Corpus.is_among(""));
    }

    #[test]
    fn python_that_is_found_runs() {
        let Some(python) = python3() else { return };
        let output = Command::new(python).args(["-c", "print(6 * 7)"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "42");
    }
}
