//! When is an option of a compiler identity? When it names no file.

use crate::named_files::names_files;
use crate::{Digest, KeyError, Lanes};

/// An option of a compiler: its name, and its value if it has one.
///
/// An option that reads files is refused, because the key would not cover their content. Pass it
/// with [`reading`](Self::reading) and a digest of the content. The check knows the options of
/// nvcc, NVRTC, clang and gcc that read files, anywhere in a word, and every value that looks like
/// a path or a file name. It cannot know the options of another tool. A value that only looks like
/// a path can be passed with [`reading`](Self::reading) and [`Digest::of_bytes`] of the value.
///
/// Leave out an option that only says where output goes.
///
/// Environment variables (`NVCC_APPEND_FLAGS`, `CPATH`), `nvcc.profile` and headers beside the
/// source are not options. Pass those that count to
/// [`Toolchain::content`](crate::Toolchain::content).
///
/// ```
/// use ptx_key::{CompilerOption, Digest, KeyError};
///
/// CompilerOption::flag("-O3")?;
/// CompilerOption::with_value("--maxrregcount", "64")?;
/// assert!(CompilerOption::flag("-Iinclude").is_err());
/// assert!(CompilerOption::with_value("-Xcompiler", "-O2,-Iinclude").is_err());
/// CompilerOption::reading("-I", Digest::of_bytes(b"the content of the headers"));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerOption {
    name: String,
    value: Value,
}

/// The order of the variants is the order in which `ENCODING.md` sorts options of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    None,
    Text(String),
    Content(Digest),
}

impl CompilerOption {
    /// Creates an option of one word, such as `-O3`, `--use_fast_math` or `--maxrregcount=64`.
    ///
    /// It differs from the same option [`with_value`](Self::with_value): `--x=y` and `--x y` give
    /// two keys.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotAnOption`] if the word does not start with `-`, and so could be a file name;
    /// [`KeyError::OptionNamesFiles`] if the option reads files.
    pub fn flag(word: &str) -> Result<Self, KeyError> {
        if names_files(word) {
            return Err(KeyError::OptionNamesFiles { option: word.to_owned() });
        }
        if !word.starts_with('-') || word == "-" {
            return Err(KeyError::NotAnOption { word: word.to_owned() });
        }
        Ok(Self { name: word.to_owned(), value: Value::None })
    }

    /// Creates an option of two words, such as `--maxrregcount` and `64`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] if the option reads files or passes on an option that does,
    /// or its value looks like a path.
    pub fn with_value(name: &str, value: &str) -> Result<Self, KeyError> {
        if names_files(name) || names_files(value) {
            return Err(KeyError::OptionNamesFiles { option: format!("{name} {value}") });
        }
        Ok(Self { name: name.to_owned(), value: Value::Text(value.to_owned()) })
    }

    /// Creates an option that reads files, by the digest of their content and not by their path.
    ///
    /// `name` is the option alone, such as `-I`. [`Digest::of_file`] and [`Digest::of_directory`]
    /// compute the digest.
    pub fn reading(name: &str, content: Digest) -> Self {
        Self { name: name.to_owned(), value: Value::Content(content) }
    }

    /// Returns the option's name. For an option of one word it is the whole word.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn encode(&self, field: &mut Lanes) {
        let Self { name, value } = self;
        field.record(name, |field| match value {
            Value::None => field.absent(),
            Value::Text(text) => field.str(text),
            Value::Content(digest) => field.digest(digest),
        });
    }
}

#[cfg(test)]
mod tests;
