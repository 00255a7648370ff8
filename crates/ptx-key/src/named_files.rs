//! Which words of a command line name files?
//!
//! 1. Split the word where a value, the next item of a list or an option for another tool can
//!    start. So `-Xcompiler=-O2,-Iinclude` contains `-Iinclude`.
//! 2. Compare each piece with the options that nvcc 13, NVRTC 13, clang 20 and gcc 14 document.
//!
//! A word that could be read either way counts as naming files. The caller can answer the error;
//! nobody notices a wrong key.

/// Options of one letter, with one hyphen, whose file or directory may follow without a space.
const LETTERS: [&str; 4] = ["-I", "-L", "-B", "-F"];

/// Options that start with `-l` and do not name a library.
const NOT_LIBRARIES: [&str; 5] = ["-lineinfo", "-link", "-lib", "-lto", "-ltoir"];

/// Names of options that read files, without their hyphens, if nothing follows the name.
const WHOLE_NAMES: [&str; 3] = ["pch", "T", "load"];

/// Prefixes of the names of options that read files, without their hyphens. More of the name, `=`
/// and a value, or a value alone may follow.
const PREFIXES: [&str; 42] = [
    "apply-controls",
    "arbin",
    "archiver-bin",
    "ccbin",
    "chain-include",
    "compiler-bin",
    "config",
    "create-pch",
    "cxx-isystem",
    "fauto-profile",
    "fbasic-block-sections",
    "fbranch-probabilities",
    "fembed-offload-object",
    "fmodule-mapper",
    "fpass-plugin",
    "fplugin",
    "fprofile-",
    "fthinlto-index",
    "fxray-",
    "gcc-toolchain",
    "idirafter",
    "iframework",
    "imacros",
    "include",
    "iprefix",
    "iquote",
    "isysroot",
    "isystem",
    "ivfsoverlay",
    "iwith",
    "ldir",
    "library",
    "mlink-",
    "optf",
    "pre-include",
    "prefix",
    "qpp-config",
    "specs",
    "stdlib++-isystem",
    "system-include",
    "use-pch",
    "vfsoverlay",
];

/// Words in the name of an option whose value is a file or a directory.
const WORDS: [&str; 13] = [
    "allowlist",
    "blacklist",
    "dir",
    "directory",
    "file",
    "files",
    "ignorelist",
    "mappings",
    "path",
    "paths",
    "plugin",
    "sysroot",
    "whitelist",
];

/// Extensions of the files that compilers read.
const EXTENSIONS: [&str; 32] = [
    "a", "bc", "c", "cc", "cfg", "cpp", "cu", "cubin", "cuh", "dll", "dylib", "fatbin", "gch", "h",
    "hpp", "hxx", "inc", "json", "ld", "lib", "ll", "ltoir", "o", "obj", "opt", "pch", "pcm",
    "profdata", "ptx", "rsp", "so", "txt",
];

/// Returns true if a word, which may be an option, a value or both, names files.
pub(crate) fn names_files(word: &str) -> bool {
    word.split(|at: char| at.is_whitespace() || "=,;\"'".contains(at))
        .any(|piece| is_path(piece) || is_file_name(piece) || is_reading_option(piece))
}

/// Absolute on some platform, or relative to a directory that the key does not cover.
fn is_path(piece: &str) -> bool {
    let drive = matches!(piece.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let here = matches!(piece, "." | ".." | "~");
    drive || here || piece.contains(['/', '\\']) || piece.starts_with("file:")
}

fn is_file_name(piece: &str) -> bool {
    piece.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
    })
}

fn is_reading_option(piece: &str) -> bool {
    // `@file` means the options in a file.
    if piece.starts_with('@') || LETTERS.iter().any(|letter| piece.starts_with(letter)) {
        return true;
    }
    if piece.starts_with("-l") && !NOT_LIBRARIES.contains(&piece) {
        return true;
    }
    let name = piece.trim_start_matches('-');
    name.len() < piece.len()
        && (WHOLE_NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.split('-').any(|word| WORDS.contains(&word)))
}

#[cfg(test)]
mod tests;
