//! Which words of a command line name files, as far as that can be told from the words.
//!
//! A word is cut where an option's value, a list's next item or an option that is passed on to
//! another tool can begin, so that `-Xcompiler=-O2,-Ifolder` is seen to hold `-Ifolder`. Then
//! each piece is held against what nvcc 13, NVRTC 13, clang 20 and gcc 14 document. Where a word
//! could be taken either way it counts as naming files: the caller can say more, a wrong key
//! cannot.

/// Options of one letter, with one hyphen, whose file or folder may be glued on.
const LETTERS: [&str; 4] = ["-I", "-L", "-B", "-F"];

/// What begins with `-l` and is not a library.
const NOT_LIBRARIES: [&str; 5] = ["-lineinfo", "-link", "-lib", "-lto", "-ltoir"];

/// Names, without their hyphens, that mean what they say only when nothing follows.
const WHOLE_NAMES: [&str; 3] = ["pch", "T", "load"];

/// How the names begin, without their hyphens, of options that read files. What follows is more
/// of the name, a value behind `=`, or a value that is glued on.
const BEGINNINGS: [&str; 42] = [
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

/// Words that, in an option's name, say that its value is a file or a folder.
const TELLING: [&str; 13] = [
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

/// How files are called that compilers read.
const EXTENSIONS: [&str; 32] = [
    "a", "bc", "c", "cc", "cfg", "cpp", "cu", "cubin", "cuh", "dll", "dylib", "fatbin", "gch", "h",
    "hpp", "hxx", "inc", "json", "ld", "lib", "ll", "ltoir", "o", "obj", "opt", "pch", "pcm",
    "profdata", "ptx", "rsp", "so", "txt",
];

/// Whether a word, which may be an option, a value, or both, names files.
pub(crate) fn names_files(word: &str) -> bool {
    word.split(|at: char| at.is_whitespace() || "=,;\"'".contains(at))
        .any(|piece| is_path(piece) || is_file_name(piece) || is_reading_option(piece))
}

/// Absolute on some platform, or relative to a folder that the key does not know.
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
    // `@file` stands for the options in a file.
    if piece.starts_with('@') || LETTERS.iter().any(|letter| piece.starts_with(letter)) {
        return true;
    }
    if piece.starts_with("-l") && !NOT_LIBRARIES.contains(&piece) {
        return true;
    }
    let name = piece.trim_start_matches('-');
    name.len() < piece.len()
        && (WHOLE_NAMES.contains(&name)
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || name.split('-').any(|word| TELLING.contains(&word)))
}

#[cfg(test)]
mod tests;
