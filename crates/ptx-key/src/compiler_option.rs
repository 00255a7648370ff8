//! One option of a compiler, as far as it is identity: never a path.

use crate::{Digest, Encoder, KeyError};

/// An option: its name, and its value where it has one.
///
/// An option that reads files is refused unless the caller gives a digest of what they hold. The
/// refusal knows the options of nvcc, NVRTC, clang and gcc that do, and every value that looks
/// like a path. A tool with others of its own must be given them by
/// [`reading`](CompilerOption::reading).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerOption {
    name: String,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    None,
    Text(String),
    Content(Digest),
}

impl CompilerOption {
    /// An option that is one word, such as `-O3`, `--use_fast_math` or `--maxrregcount=64`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] when it reads files.
    pub fn flag(word: &str) -> Result<Self, KeyError> {
        if names_files(word) {
            return Err(KeyError::OptionNamesFiles { option: word.to_owned() });
        }
        Ok(Self { name: word.to_owned(), value: Value::None })
    }

    /// An option that is two words, such as `--maxrregcount` and `64`.
    ///
    /// # Errors
    ///
    /// [`KeyError::OptionNamesFiles`] when it reads files or the value looks like a path.
    pub fn with_value(name: &str, value: &str) -> Result<Self, KeyError> {
        // An option that is passed on, as `-Xcompiler -Ifolder` is, reads what that one reads.
        if names_files(name) || names_files(value) || holds_path(value) {
            return Err(KeyError::OptionNamesFiles { option: format!("{name} {value}") });
        }
        Ok(Self { name: name.to_owned(), value: Value::Text(value.to_owned()) })
    }

    /// An option that reads files, by the digest of what they hold ([`Digest::of_file`],
    /// [`Digest::of_folder`]) in place of where they lie.
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

/// One-letter options whose folder or file may be glued on.
const READS_FILES_SHORT: [&str; 3] = ["-I", "-L", "-B"];

/// Options that read a file or a folder, which follows as a word, behind `=`, or glued on.
const READS_FILES: [&str; 34] = [
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-ivfsoverlay",
    "-iframework",
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
    "--options-file",
    "-optf",
    "--compiler-bindir",
    "-ccbin",
    "--cuda-path",
    "--libdevice-directory",
    "-ldir",
    "-fplugin",
    "-fprofile-use",
    "-fprofile-instr-use",
    "-fmodule-map-file",
    "-fmodule-file",
    "--config",
];

fn names_files(word: &str) -> bool {
    let short = READS_FILES_SHORT.iter().any(|known| word.starts_with(known));
    let long = READS_FILES.iter().any(|known| word.starts_with(known));
    // `@file` stands for options in a file; nvcc parts values by commas.
    short || long || word.starts_with('@') || holds_path(word)
}

/// Whether a part of the word is a path: absolute on some platform, or relative to a folder that
/// the key does not know.
fn holds_path(word: &str) -> bool {
    word.split(['=', ',', ';', ' ', '"', '\'']).any(is_path)
}

fn is_path(part: &str) -> bool {
    let drive =
        matches!(part.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let rooted = ["/", "\\", "~/", "./", "../", ".\\", "..\\", "file:"];
    drive || rooted.iter().any(|root| part.starts_with(root)) || part == "." || part == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_read_files_are_refused_in_every_spelling() {
        for word in [
            "-I",
            "-Iinclude",
            "-I/usr/include",
            "-I=include",
            "-include=x.h",
            "--include-path=a,b",
            "-isystem",
            "--pre-include=x",
            "@options",
            "--use-pch=x.pch",
            "-L/lib",
            "--x=/abs/path",
            "--x=C:\\cuda",
            "--x=./rel",
            "--x=a,../b",
            "-fplugin=x.so",
            "--sysroot=/",
            "--libdevice-directory=x",
            "-Wp,-MD,/tmp/x",
            "--options-file",
            "--x=~/home",
            "--x=..",
        ] {
            let refused = CompilerOption::flag(word).unwrap_err();
            assert!(refused.to_string().contains("digest of what they hold"), "{word}: {refused}");
        }
        for (name, value) in [
            ("-I", "include"),
            ("--include-path", "x"),
            ("-Xcompiler", "-Ix"),
            ("-x", "/abs"),
            ("-Xptxas", "@file"),
            ("--pch-dir", "cache"),
            ("-D", "PATH=\"/etc/x\""),
        ] {
            assert!(CompilerOption::with_value(name, value).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn options_that_read_none_are_taken() {
        for word in
            ["-O3", "--use_fast_math", "-arch=sm_90a", "-DN=4", "--std=c++17", "-G", "-lineinfo"]
        {
            assert_eq!(CompilerOption::flag(word).unwrap().name(), word);
        }
        assert!(CompilerOption::with_value("--maxrregcount", "64").is_ok());
        assert!(CompilerOption::with_value("-Xptxas", "-v").is_ok());
    }
}
