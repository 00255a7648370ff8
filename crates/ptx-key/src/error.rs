//! What can go wrong on the way to a key?

use std::path::PathBuf;

/// Why a key, or a part of one, cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A text is not 64 hexadecimal digits, so it is not a key.
    #[error("`{text}` is not a key: a key has 64 hexadecimal digits")]
    NotHex {
        /// The text, cut at 80 characters.
        text: String,
    },
    /// A text is not a PTX target.
    #[error(
        "unknown target `{text}`: write sm_ and the compute capability, with the variant letter \
         a or f if there is one, such as sm_80, sm_90a or sm_100f"
    )]
    UnknownTarget {
        /// The text.
        text: String,
    },
    /// A text is not a PTX ISA version.
    #[error("`{text}` is not a PTX ISA version: write major.minor, such as 8.0")]
    NotIsaVersion {
        /// The text.
        text: String,
    },
    /// A tool has no fingerprint, so the lowering has no key. Lower without the cache.
    #[error(
        "the tool `{tool}` has no fingerprint ({reason}): lower without the cache, or give the \
         toolchain a tool that can be read"
    )]
    Unkeyable {
        /// The tool's name.
        tool: String,
        /// Why it has no fingerprint.
        reason: String,
    },
    /// An option names files, and the key does not cover their content.
    #[error(
        "the option `{option}` names files: pass the digest of their content with \
         `CompilerOption::reading`, or leave the option out if it only says where output goes"
    )]
    OptionNamesFiles {
        /// The option as it was given.
        option: String,
    },
    /// A word without a leading `-` was given as an option.
    #[error(
        "`{word}` is not an option: pass an option's value together with its name, with \
         `CompilerOption::with_value`, and the source as the program"
    )]
    NotAnOption {
        /// The word.
        word: String,
    },
    /// A file or a directory cannot be read, so its content has no digest.
    #[error(
        "cannot read `{}` to digest it; check that it exists and that this process may read it",
        path.display()
    )]
    Unreadable {
        /// The file or the directory.
        path: PathBuf,
        /// What the system reports.
        source: std::io::Error,
    },
    /// A stored key trace is damaged. Lower the program again.
    #[error("the stored key trace is damaged ({reason}): lower the program again")]
    DamagedTrace {
        /// What is wrong with it.
        reason: &'static str,
    },
}
