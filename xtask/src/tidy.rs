//! Source rules that no other tool checks.

use std::path::Path;

use crate::run::{Outcome, manifests, read, root, sources};

/// Longest file, in lines, that still is one idea in one sitting.
const MOST_LINES: usize = 400;

/// Files that may hold `unsafe`.
const UNSAFE: [&str; 3] = [
    "crates/ptx-cache/src/table.rs",
    "crates/ptx-cache/src/shard.rs",
    "crates/ptx-cuda/src/driver/cust.rs",
];

/// Names that say nothing.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

/// Words of unfinished work, and paths of one machine. They are put together here so that this
/// file does not find itself.
const UNWANTED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// The lint that denies `unsafe`. Whoever turns it off names it.
const UNSAFE_LINT: &str = concat!("unsafe", "_code");

/// Kinds of file that people write.
const WRITTEN: [&str; 6] = ["rs", "toml", "md", "py", "sh", "yml"];

pub(crate) fn run() -> Outcome {
    let mut wrong = Vec::new();
    for file in sources()? {
        let path = Path::new(&file);
        if path.components().any(|part| is_empty_name(Path::new(part.as_os_str()))) {
            wrong.push(format!("{file}: a name that says nothing"));
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if WRITTEN.contains(&&*extension) {
            check_text(&file, &read(&root().join(path))?, &mut wrong);
        }
    }
    for (folder, manifest) in manifests()? {
        if !manifest.contains("[lints]\nworkspace = true\n") {
            wrong.push(format!("{folder}: does not take the workspace's lints"));
        }
        let library = root().join(&folder).join("src/lib.rs");
        if folder.starts_with("crates/") && library.is_file() {
            let source = read(&library)?;
            if !has_runnable_example(&source) {
                wrong.push(format!("{folder}/src/lib.rs: no runnable example on its front page"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn is_empty_name(part: &Path) -> bool {
    let stem = part.file_stem().unwrap_or_default();
    EMPTY_NAMES.iter().any(|name| stem == *name)
}

fn check_text(file: &str, text: &str, wrong: &mut Vec<String>) {
    for word in UNWANTED.iter().filter(|word| text.contains(**word)) {
        wrong.push(format!("{file}: {word}"));
    }
    if Path::new(file).extension().is_none_or(|extension| extension != "rs") {
        return;
    }
    let lines = text.lines().count();
    if lines > MOST_LINES {
        wrong.push(format!("{file}: {lines} lines; split it where a second question begins"));
    }
    if text.contains('\t') {
        wrong.push(format!("{file}: a tab"));
    }
    match (UNSAFE.contains(&file), text.contains(UNSAFE_LINT)) {
        (false, true) => wrong.push(format!("{file}: unsafe outside {}", UNSAFE.join(", "))),
        (true, false) => wrong.push(format!("{file}: needs no unsafe any more; see tidy.rs")),
        _ => {}
    }
}

/// Whether the first lines, `//!`, hold a block of code that a documentation test runs.
fn has_runnable_example(source: &str) -> bool {
    let page = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut inside = false;
    for fence in page.filter_map(|line| line.trim().strip_prefix("```")) {
        inside = !inside;
        if inside && fence.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(file: &str, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        check_text(file, text, &mut wrong);
        wrong
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        assert_eq!(complaints("a.rs", &"x\n".repeat(400)), [""; 0]);
        assert_eq!(complaints("a.rs", &"x\n".repeat(401)).len(), 1);
        assert_eq!(complaints("a.md", &"x\n".repeat(401)), [""; 0]);
        assert_eq!(complaints("a.rs", "\tlet x;").len(), 1);
        for word in UNWANTED {
            assert_eq!(complaints("a.md", &format!("see {word}x")).len(), 1, "{word}");
        }
        let allowing = format!("#![allow({UNSAFE_LINT}, reason = \"because\")]");
        assert_eq!(complaints("crates/ptx-key/src/lib.rs", &allowing).len(), 1);
        assert_eq!(complaints(UNSAFE[0], &allowing), [""; 0]);
        assert_eq!(complaints(UNSAFE[0], "").len(), 1);
    }

    #[test]
    fn names_that_say_nothing_are_found_with_and_without_an_extension() {
        assert!(is_empty_name(Path::new("utils.rs")));
        assert!(is_empty_name(Path::new("common")));
        assert!(!is_empty_name(Path::new("common_prefix.rs")));
    }

    #[test]
    fn only_a_block_that_runs_is_an_example() {
        assert!(has_runnable_example("//! What.\n//!\n//! ```\n//! run();\n//! ```\n"));
        assert!(!has_runnable_example("//! ```text\n//! a drawing\n//! ```\n"));
        assert!(!has_runnable_example("//! ```no_run\n//! run();\n//! ```\n"));
        assert!(!has_runnable_example("/// ```\n/// run();\n/// ```\n"));
    }
}
