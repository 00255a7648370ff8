//! Source rules that no other tool checks.

use std::path::{Path, PathBuf};

use crate::run::{Outcome, command, read, root, text};

/// Longest file, in lines, that still is one idea in one sitting.
const MOST_LINES: usize = 400;

/// Files that may hold `unsafe`.
const UNSAFE: [&str; 3] = [
    "crates/ptx-cache/src/table.rs",
    "crates/ptx-cache/src/shard.rs",
    "crates/ptx-cuda/src/cust_driver.rs",
];

/// Names that say nothing.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

pub(crate) fn run() -> Outcome {
    let listed =
        text(&mut command("git", &["ls-files", "--cached", "--others", "--exclude-standard"]))?;
    let mut wrong = Vec::new();
    for file in listed.lines().filter(|file| !file.starts_with("target/")) {
        let path = root().join(file);
        if !path.is_file() {
            continue;
        }
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if EMPTY_NAMES.contains(&stem.as_str()) {
            wrong.push(format!("{file}: a name that says nothing"));
        }
        if Path::new(file).extension().is_some_and(|extension| extension == "rs") {
            check_source(file, &path, &mut wrong)?;
        }
    }
    for library in libraries()? {
        let source = read(&library)?;
        let runnable = source.contains("//! ```\n");
        if !source.starts_with("//!") || !runnable {
            wrong.push(format!("{}: no front page with a runnable example", library.display()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn check_source(file: &str, path: &Path, wrong: &mut Vec<String>) -> Outcome {
    let source = read(path)?;
    let lines = source.lines().count();
    if lines > MOST_LINES {
        wrong.push(format!("{file}: {lines} lines; split it where a second question begins"));
    }
    // The words are put together so that this file does not find itself.
    for word in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
        if source.contains(word) {
            wrong.push(format!("{file}: {word}"));
        }
    }
    if source.contains('\t') && !file.starts_with("xtask/") {
        wrong.push(format!("{file}: a tab"));
    }
    // The compiler denies unsafe code wherever this is not written.
    let allows_unsafe =
        source.split("allow(").skip(1).any(|list| list.trim_start().starts_with("unsafe_code"));
    if allows_unsafe && !UNSAFE.contains(&file) && !file.starts_with("xtask/") {
        wrong.push(format!("{file}: unsafe outside {}", UNSAFE.join(", ")));
    }
    Ok(())
}

fn libraries() -> Outcome<Vec<PathBuf>> {
    let crates = std::fs::read_dir(root().join("crates")).map_err(|error| error.to_string())?;
    let libraries = crates.filter_map(|entry| Some(entry.ok()?.path().join("src/lib.rs")));
    Ok(libraries.filter(|library| library.is_file()).collect())
}
