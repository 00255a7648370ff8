//! One option of a compiler, as far as it is identity: never a path.

use crate::named_files::names_files;
use crate::{Digest, Encoder, KeyError};

/// An option: its name, and its value where it has one.
///
/// An option that reads files is refused unless the caller gives a digest of what they hold. The
/// refusal knows the options of nvcc, NVRTC, clang and gcc that do, wherever they stand in a word,
/// and every value that looks like a path or a file's name. It cannot know those of another tool:
/// give them by [`reading`](Self::reading). A value that only looks like a path can be given so
/// too, by [`Digest::of_bytes`] of itself. An option that only says where output goes is no
/// identity: leave it out.
///
/// What reaches a compiler by another way is not an option: environment variables
/// (`NVCC_APPEND_FLAGS`, `CPATH`), `nvcc.profile`, headers beside the source. Give those that
/// count to [`Toolchain::content`](crate::Toolchain::content).
///
/// ```
/// use ptx_key::{CompilerOption, Digest, KeyError};
///
/// CompilerOption::flag("-O3")?;
/// CompilerOption::with_value("--maxrregcount", "64")?;
/// assert!(CompilerOption::flag("-Iinclude").is_err());
/// assert!(CompilerOption::with_value("-Xcompiler", "-O2,-Iinclude").is_err());
/// CompilerOption::reading("-I", Digest::of_bytes(b"what the headers hold"));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerOption {
    name: String,
    value: Value,
}

/// The order of these is the order in which `ENCODING.md` sorts options of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    None,
    Text(String),
    Content(Digest),
}

impl CompilerOption {
    /// An option that is one word, such as `-O3`, `--use_fast_math` or `--maxrregcount=64`.
    ///
    /// It is not equal to the same option [`with_value`](Self::with_value): `--x=y` and `--x y`
    /// are two keys.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotAnOption`] when it does not begin with `-`, and so could be a file's name;
    /// [`KeyError::OptionNamesFiles`] when it reads files.
    pub fn flag(word: &str) -> Result<Self, KeyError> {
        if names_files(word) {
            return Err(KeyError::OptionNamesFiles { option: word.to_owned() });
        }
        if !word.starts_with('-') || word == "-" {
            return Err(KeyError::NotAnOption { word: word.to_owned() });
        }
        Ok(Self { name: word.to_owned(), value: Value::None })
    }

    /// An option that is two words, such as `--maxrregcount` and `64`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] when it reads files, passes on an option that does, or its
    /// value looks like a path.
    pub fn with_value(name: &str, value: &str) -> Result<Self, KeyError> {
        if names_files(name) || names_files(value) {
            return Err(KeyError::OptionNamesFiles { option: format!("{name} {value}") });
        }
        Ok(Self { name: name.to_owned(), value: Value::Text(value.to_owned()) })
    }

    /// An option that reads files, by the digest of what they hold ([`Digest::of_file`],
    /// [`Digest::of_folder`]) in place of where they lie. `name` is the option alone, such as
    /// `-I`.
    pub fn reading(name: &str, content: Digest) -> Self {
        Self { name: name.to_owned(), value: Value::Content(content) }
    }

    /// The option's name; of a one-word option the whole word.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn encode(&self, field: &mut Encoder) {
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
