//! The external compiler behind a lowering: which tool, which options, which files it reads.

use std::collections::BTreeMap;
use std::path::Path;

use crate::content::digest_of_file;
use crate::{CompilerOption, Digest, KeyError};

/// An external compiler and all that decides what it puts out.
///
/// A tool is what its own bytes are: its identity is the digest of the file, since a version
/// string is shared by builds that differ. Where a path leads is never identity.
///
/// Compilers read options in order, and the last word on a thing often wins: so the order of
/// [`option`](Self::option)s counts. Where the caller knows that it does not,
/// [`option_in_any_order`](Self::option_in_any_order) keeps it out of the key.
///
/// ```
/// use ptx_key::{CompilerOption, Digest, Toolchain};
/// # let folder = tempfile::tempdir()?;
/// # let nvcc = folder.path().join("nvcc");
/// # std::fs::write(&nvcc, "stand-in")?;
/// let headers = Digest::of_folder(folder.path())?;
/// let toolchain = Toolchain::of_tool("nvcc", "13.0.88", &nvcc)
///     .option(CompilerOption::flag("-O3")?)
///     .option(CompilerOption::with_value("--maxrregcount", "64")?)
///     .option_in_any_order(CompilerOption::flag("--use_fast_math")?)
///     .option(CompilerOption::reading("-I", headers));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The tool's digest, or why there is none.
    pub(crate) fingerprint: Result<Digest, String>,
    /// In the order given.
    pub(crate) ordered: Vec<CompilerOption>,
    /// By name; each name's options sorted.
    pub(crate) unordered: BTreeMap<String, Vec<CompilerOption>>,
    pub(crate) contents: BTreeMap<String, Digest>,
}

impl Toolchain {
    /// The tool that this fingerprint belongs to. Use it where one tool is really several files
    /// (a driver program and the libraries behind it): digest them all.
    pub fn new(name: &str, version: &str, fingerprint: Digest) -> Self {
        Self::with_fingerprint(name, version, Ok(fingerprint))
    }

    /// The tool in the file `path`.
    ///
    /// Where the file cannot be read the toolchain is still a value, but no key can be made with
    /// it: [`KeyBuilder::new`](crate::KeyBuilder::new) says [`KeyError::Unkeyable`].
    pub fn of_tool(name: &str, version: &str, path: &Path) -> Self {
        let fingerprint = Self::fingerprint(path).map_err(|error| error.to_string());
        Self::with_fingerprint(name, version, fingerprint)
    }

    /// The digest of the tool itself: of the bytes in the file `path`, streamed.
    ///
    /// A wrapper script or a driver program says nothing of the programs it calls: name those.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] when the file cannot be opened or read.
    pub fn fingerprint(path: &Path) -> Result<Digest, KeyError> {
        digest_of_file(path)
    }

    /// Adds an option whose place among the options counts.
    #[must_use]
    pub fn option(mut self, option: CompilerOption) -> Self {
        self.ordered.push(option);
        self
    }

    /// Adds an option that means the same wherever it stands. How often it is given counts.
    #[must_use]
    pub fn option_in_any_order(mut self, option: CompilerOption) -> Self {
        let same_name = self.unordered.entry(option.name().to_owned()).or_default();
        same_name.push(option);
        same_name.sort();
        self
    }

    /// Adds content that the compiler reads by no option, such as a header that the program
    /// includes, under the name by which it is included. A second content under the same name
    /// takes the place of the first.
    #[must_use]
    pub fn content(mut self, name: &str, content: Digest) -> Self {
        self.contents.insert(name.to_owned(), content);
        self
    }

    fn with_fingerprint(name: &str, version: &str, fingerprint: Result<Digest, String>) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            fingerprint,
            ordered: Vec::new(),
            unordered: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests;
