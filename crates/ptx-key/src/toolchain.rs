//! The external compiler behind a lowering: which tool, which options, which files it reads.

use std::collections::BTreeMap;
use std::path::Path;

use crate::content::digest_of_file;
use crate::{Digest, Encoder, KeyError};

/// An external compiler and all that decides what it puts out.
///
/// A tool is what its own bytes are: its identity is the digest of the file, since a version
/// string is shared by builds that differ. Options count by name; the order of different names
/// does not count, the order of one name's values does. Where a path leads is never identity.
///
/// ```
/// use ptx_key::{Digest, Toolchain};
/// # let folder = tempfile::tempdir()?;
/// # let nvcc = folder.path().join("nvcc");
/// # std::fs::write(&nvcc, "stand-in")?;
/// let headers = Digest::of_folder(folder.path())?;
/// let toolchain = Toolchain::of_tool("nvcc", "13.0.88", &nvcc)
///     .flag("--use_fast_math")?
///     .option("--maxrregcount", "64")?
///     .option_reading("-I", headers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The tool's digest, or why there is none.
    pub(crate) fingerprint: Result<Digest, String>,
    pub(crate) options: BTreeMap<String, Vec<OptionValue>>,
    pub(crate) contents: BTreeMap<String, Digest>,
}

/// What one mention of an option adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OptionValue {
    Flag,
    Text(String),
    Content(Digest),
}

impl OptionValue {
    pub(crate) fn encode(&self, field: &mut Encoder) {
        match self {
            Self::Flag => field.bool(true),
            Self::Text(text) => field.str(text),
            Self::Content(digest) => field.digest(digest),
        }
    }
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

    /// Adds an option that takes no value, or has its value glued on, such as `-O3`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] when the option reads files.
    pub fn flag(self, name: &str) -> Result<Self, KeyError> {
        refuse_files(name, name)?;
        if let Some((name, value)) = name.split_once('=') {
            return self.option(name, value);
        }
        Ok(self.push(name, OptionValue::Flag))
    }

    /// Adds an option with its value, such as `--maxrregcount` and `64`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] when the option reads files or its value is a path.
    pub fn option(self, name: &str, value: &str) -> Result<Self, KeyError> {
        refuse_files(name, &format!("{name} {value}"))?;
        if is_path(value) {
            return Err(KeyError::OptionNamesFiles { option: format!("{name} {value}") });
        }
        Ok(self.push(name, OptionValue::Text(value.to_owned())))
    }

    /// Adds an option that reads files, by the digest of what they hold
    /// ([`Digest::of_file`], [`Digest::of_folder`]) in place of where they lie.
    #[must_use]
    pub fn option_reading(self, name: &str, content: Digest) -> Self {
        self.push(name, OptionValue::Content(content))
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
            options: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }

    fn push(mut self, name: &str, value: OptionValue) -> Self {
        self.options.entry(name.to_owned()).or_default().push(value);
        self
    }
}

/// Options of nvcc, NVRTC, clang and gcc that name files or folders to read, whole or as what
/// another value is glued to. A tool's option that is missing here is caught only when its value
/// looks like a path.
const READS_FILES: [&str; 28] = [
    "-I",
    "-L",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "--include-path",
    "--pre-include",
    "--system-include",
    "--library-path",
    "--sysroot",
    "--use-pch",
    "-use-pch",
    "--create-pch",
    "-create-pch",
    "--pch-dir",
    "-pch-dir",
    "-include-pch",
    "--options-file",
    "-optf",
    "--compiler-bindir",
    "-ccbin",
    "--cuda-path",
    "--libdevice-directory",
    "-fplugin",
    "-fprofile-use",
];

fn refuse_files(name: &str, option: &str) -> Result<(), KeyError> {
    let (bare, glued) = name.split_once('=').unwrap_or((name, ""));
    let one_letter = |known: &str| known.len() == 2 && bare.starts_with(known);
    let reads = READS_FILES.iter().any(|known| bare == *known || one_letter(known));
    if reads || bare.starts_with('@') || is_path(bare) || is_path(glued) {
        return Err(KeyError::OptionNamesFiles { option: option.to_owned() });
    }
    Ok(())
}

/// Absolute on some platform, or relative to a folder that the key does not know.
fn is_path(value: &str) -> bool {
    let drive = matches!(value.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let rooted = ["/", "\\", "~/", "./", "../", ".\\", "..\\"];
    drive || rooted.iter().any(|root| value.starts_with(root)) || value == "." || value == ".."
}

#[cfg(test)]
mod tests;
