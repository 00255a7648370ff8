//! What can go wrong while a key is made.

use std::path::PathBuf;

/// Why a key, or a part of one, could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key's text is not 64 hexadecimal digits.
    #[error("`{text}` is not a key: expected 64 hexadecimal digits")]
    NotHex {
        /// The text, cut at 80 characters.
        text: String,
    },
    /// A target's text is not `sm_` with a number and at most one variant letter.
    #[error(
        "unknown target `{text}`: expected sm_ and a compute capability, with the variant \
         letter a or f where there is one, such as sm_80, sm_90a or sm_100f"
    )]
    UnknownTarget {
        /// The text.
        text: String,
    },
    /// A PTX ISA version's text is not `major.minor`.
    #[error("`{text}` is not a PTX ISA version: expected major.minor, such as 8.0")]
    NotIsaVersion {
        /// The text.
        text: String,
    },
    /// A tool has no fingerprint, so nothing can say which lowering this is. Lower, and do not
    /// keep the result.
    #[error(
        "the tool `{tool}` has no fingerprint ({reason}): lower without the cache, or give the \
         toolchain a tool that can be read"
    )]
    Unkeyable {
        /// The tool's name.
        tool: String,
        /// What was wrong with it.
        reason: String,
    },
    /// An option names files, and what they hold is not in the key.
    #[error(
        "the option `{option}` names files: pass a digest of what they hold with \
         `CompilerOption::reading`, or leave the option out if it only says where output goes"
    )]
    OptionNamesFiles {
        /// The option as it was given.
        option: String,
    },
    /// A word that does not begin with `-` was given as an option.
    #[error(
        "`{word}` is not an option: give an option's value together with its name, by \
         `CompilerOption::with_value`, and the source as the program"
    )]
    NotAnOption {
        /// The word.
        word: String,
    },
    /// A file or folder whose content belongs in a key could not be read.
    #[error("cannot read `{}` to take its digest: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// A stored key trace is not one.
    #[error("the key trace is damaged: {reason}; the artifact it came with should be made anew")]
    DamagedTrace {
        /// What was wrong with it.
        reason: &'static str,
    },
}
