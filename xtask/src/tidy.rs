//! Which rules for sources does no other tool check?

use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace::{directory, files, is_rust, members, shell};

/// The longest file, in lines, that still answers one question.
const MOST_LINES: usize = 400;

/// Directories whose files may use `unsafe`.
const UNSAFE: [&str; 2] = ["crates/ptx-cache/src/table/", "crates/ptx-cuda/src/driver/"];

/// The lint that denies `unsafe`. A file that uses `unsafe` names it.
const UNSAFE_LINT: &str = concat!("unsafe", "_code");

/// Names that say nothing.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

/// Marks of unfinished work, and paths of one machine. Each is split here so that this file does
/// not contain it.
const UNWANTED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Extensions of files that people write.
const WRITTEN: [&str; 6] = ["rs", "toml", "md", "py", "sh", "yml"];

pub(crate) fn run() -> Result<()> {
    let shell = shell()?;
    let (mut wrong, mut unsafe_files) = (Vec::new(), Vec::new());
    for file in files(&shell)? {
        let path = Path::new(&file);
        if path.components().any(|part| is_empty_name(Path::new(part.as_os_str()))) {
            wrong.push(format!("{file}: a name that says nothing"));
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if WRITTEN.contains(&&*extension) {
            let text = shell.read_file(path)?;
            wrong.extend(complaints(&file, &text));
            if is_rust(&file) && text.contains(UNSAFE_LINT) {
                unsafe_files.push(file);
            }
        }
    }
    wrong.extend(unsafe_complaints(&unsafe_files));
    for member in members()? {
        let name = directory(&member);
        if !shell.read_file(&member.manifest_path)?.contains("[lints]\nworkspace = true\n") {
            wrong.push(format!("{name}: does not use the workspace's lints"));
        }
        let library = member.targets.iter().find(|target| target.is_lib());
        if let Some(library) = library.filter(|_| name.starts_with("crates/"))
            && !has_runnable_example(&shell.read_file(&library.src_path)?)
        {
            wrong.push(format!("{name}/src/lib.rs: no runnable example on its front page"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn is_empty_name(part: &Path) -> bool {
    let stem = part.file_stem().unwrap_or_default();
    EMPTY_NAMES.iter().any(|name| stem == *name)
}

fn complaints(file: &str, text: &str) -> Vec<String> {
    let unwanted = UNWANTED.iter().filter(|word| text.contains(**word));
    let mut wrong: Vec<String> = unwanted.map(|word| format!("{file}: {word}")).collect();
    if is_rust(file) {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            wrong.push(format!("{file}: {lines} lines; split it where a second question begins"));
        }
        if text.contains('\t') {
            wrong.push(format!("{file}: a tab"));
        }
    }
    wrong
}

/// Complains of files that turn off the lint outside of [`UNSAFE`], and of directories there in
/// which none does.
fn unsafe_complaints(files: &[String]) -> Vec<String> {
    let outside = files.iter().filter(|file| !UNSAFE.iter().any(|may| file.starts_with(may)));
    let outside = outside.map(|file| format!("{file}: `unsafe` outside of {}", UNSAFE.join(", ")));
    let unused = UNSAFE.iter().filter(|may| !files.iter().any(|file| file.starts_with(**may)));
    let unused = unused.map(|may| format!("{may}: uses no `unsafe`; remove it from tidy.rs"));
    outside.chain(unused).collect()
}

/// Whether the first lines, `//!`, contain a block of code that rustdoc runs.
fn has_runnable_example(source: &str) -> bool {
    // rustdoc runs the blocks of a README that the front page includes.
    if source.starts_with(r#"#![doc = include_str!("../README.md")]"#) {
        return true;
    }
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

    #[test]
    fn each_rule_finds_what_breaks_it() {
        assert_eq!(complaints("a.rs", &"x\n".repeat(400)), [""; 0]);
        assert_eq!(complaints("a.rs", &"x\n".repeat(401)).len(), 1);
        assert_eq!(complaints("a.md", &"x\n".repeat(401)), [""; 0]);
        assert_eq!(complaints("a.rs", "\tlet x;").len(), 1);
        for word in UNWANTED {
            assert_eq!(complaints("a.md", &format!("see {word}x")).len(), 1, "{word}");
        }
    }

    #[test]
    fn unsafe_is_where_the_list_says_and_nowhere_else() {
        let listed = UNSAFE.map(|directory| format!("{directory}file.rs"));
        assert_eq!(unsafe_complaints(&listed), [""; 0]);
        assert_eq!(unsafe_complaints(&listed[1..]).len(), 1);
        let more = [&listed[..], &["crates/ptx-key/src/lib.rs".to_owned()]].concat();
        assert_eq!(unsafe_complaints(&more).len(), 1);
    }

    #[test]
    fn names_that_say_nothing_are_found_with_or_without_extension() {
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
