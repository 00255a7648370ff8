//! Which external compiler lowers, with which options, and what does it read?

use std::collections::BTreeMap;
use std::path::Path;

use crate::content::sha256_of_file;
use crate::{CompilerOption, Digest};

/// An external compiler and everything that decides its output.
///
/// The identity of a tool is the digest of its file, because builds that differ share a version
/// string. Where the file lies does not count.
///
/// Compilers read options in order, and the last of two often wins, so the order of
/// [`option`](Self::option)s counts. If you know that it does not count, use
/// [`option_in_any_order`](Self::option_in_any_order).
///
/// ```
/// use ptx_key::{CompilerOption, Digest, Toolchain};
/// # let directory = tempfile::tempdir()?;
/// # let nvcc = directory.path().join("nvcc");
/// # std::fs::write(&nvcc, "a tool")?;
/// let headers = Digest::of_directory(directory.path())?;
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
    /// By name. The options of each name are sorted.
    pub(crate) unordered: BTreeMap<String, Vec<CompilerOption>>,
    pub(crate) contents: BTreeMap<String, Digest>,
}

impl Toolchain {
    /// Creates the toolchain of a fingerprint that you compute.
    ///
    /// Use it if one tool is several files, such as a driver program and the libraries that it
    /// loads: digest all of them.
    pub fn new(name: &str, version: &str, fingerprint: Digest) -> Self {
        Self::with_fingerprint(name, version, Ok(fingerprint))
    }

    /// Creates the toolchain of the tool in the file `path`.
    ///
    /// A wrapper script or a driver program says nothing about the programs that it calls: name
    /// those. If the file cannot be read, [`KeyBuilder::new`](crate::KeyBuilder::new) returns
    /// [`KeyError::Unkeyable`](crate::KeyError::Unkeyable).
    pub fn of_tool(name: &str, version: &str, path: &Path) -> Self {
        let fingerprint = sha256_of_file(path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()));
        Self::with_fingerprint(name, version, fingerprint)
    }

    /// Adds an option whose position among the options counts.
    #[must_use]
    pub fn option(mut self, option: CompilerOption) -> Self {
        self.ordered.push(option);
        self
    }

    /// Adds an option that means the same in every position. The number of repetitions counts.
    #[must_use]
    pub fn option_in_any_order(mut self, option: CompilerOption) -> Self {
        let same_name = self.unordered.entry(option.name().to_owned()).or_default();
        same_name.push(option);
        same_name.sort();
        self
    }

    /// Adds content that the compiler reads without an option, such as an included header.
    ///
    /// `name` is the name by which the program includes it. A second content of the same name
    /// replaces the first.
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
