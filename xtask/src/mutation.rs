//! Does a test fail for each field that a key loses and each memory ordering that is weakened?
//!
//! Each mutant is one edit in a copy of the sources. `cargo-mutants` cannot make these: it replaces
//! bodies, operators and match arms, but it neither deletes a statement nor weakens an ordering,
//! and it does not run loom models. It asks another question, worth asking by hand:
//! `cargo mutants --package ptx-key --test-tool nextest`.

use std::ops::Range;

use anyhow::{Context as _, Result, bail, ensure};
use syn::Stmt;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use xshell::{Cmd, Shell, cmd};

use crate::workspace::{files, root, shell};

mod weakenings;

use weakenings::WEAKENINGS;

/// Files in which each statement between [`BEGIN`] and [`END`] is deleted in turn.
const FIELDS: [&str; 2] = ["crates/ptx-key/src/builder.rs", "crates/ptx-key/src/module.rs"];

const BEGIN: &str = "// mutation:begin\n";
const END: &str = "// mutation:end\n";

struct Mutant {
    name: String,
    file: &'static str,
    /// The file with the edit.
    source: String,
    tests: Tests,
}

/// Runs tests in the copy of the sources. Returns the names of those that fail.
type Tests = fn(&Shell) -> Result<Vec<String>>;

/// Runs every mutant, or those whose file's path contains the argument.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let part = arguments.first().map_or("", String::as_str);
    let copy = copy_sources()?;
    let mut mutants = deletions(&copy)?;
    mutants.extend(weakenings(&copy)?);
    mutants.retain(|mutant| mutant.file.contains(part));
    ensure!(!mutants.is_empty(), "no mutants in files whose path contains `{part}`");
    for tests in [key_tests as Tests, loom_models] {
        if mutants.iter().any(|mutant| std::ptr::fn_addr_eq(mutant.tests, tests)) {
            let failed = tests(&copy)?;
            ensure!(failed.is_empty(), "without a mutant, these fail: {}", failed.join(", "));
        }
    }
    println!("| mutant | failing tests |\n| --- | --- |");
    let mut survivors = 0;
    for mutant in &mutants {
        let original = copy.read_file(mutant.file)?;
        copy.write_file(mutant.file, &mutant.source)?;
        let failed = (mutant.tests)(&copy).with_context(|| mutant.name.clone())?;
        copy.write_file(mutant.file, original)?;
        survivors += usize::from(failed.is_empty());
        let tests = if failed.is_empty() { "SURVIVED".to_owned() } else { failed.join(", ") };
        println!("| `{}` | {tests} |", mutant.name);
    }
    println!("{} mutants, {survivors} survived", mutants.len());
    ensure!(survivors == 0, "{survivors} mutants survived");
    Ok(())
}

/// A shell in a copy of the sources, so that a mutant never touches real work.
fn copy_sources() -> Result<Shell> {
    let shell = shell()?;
    let directory = root().join("target/mutation/workspace");
    shell.remove_path(&directory)?;
    for file in files(&shell)? {
        let copy = directory.join(&file);
        shell.create_dir(copy.parent().unwrap_or(&directory))?;
        shell.copy_file(&file, copy)?;
    }
    shell.change_dir(directory);
    shell.set_var("CARGO_TARGET_DIR", root().join("target/mutation/target"));
    Ok(shell)
}

fn deletions(copy: &Shell) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for file in FIELDS {
        let source = copy.read_file(file)?;
        let found = marked_statements(&source).with_context(|| file)?;
        ensure!(!found.is_empty(), "{file}: no statements between {BEGIN:?} and {END:?}");
        mutants.extend(found.into_iter().map(|range| {
            let words: Vec<&str> = source[range.clone()].split_whitespace().collect();
            let mut mutated = source.clone();
            mutated.replace_range(range, "");
            let name = words.join(" ").replace('|', "\\|");
            Mutant { name, file, source: mutated, tests: key_tests }
        }));
    }
    Ok(mutants)
}

/// The bytes of each statement between the marks.
fn marked_statements(source: &str) -> Result<Vec<Range<usize>>> {
    struct Statements {
        marked: Vec<Range<usize>>,
        found: Vec<Range<usize>>,
    }
    impl<'ast> Visit<'ast> for Statements {
        fn visit_stmt(&mut self, statement: &'ast Stmt) {
            let range = statement.span().byte_range();
            if self.marked.iter().any(|marked| marked.contains(&range.start)) {
                self.found.push(range);
            } else {
                visit::visit_stmt(self, statement);
            }
        }
    }
    let (begins, ends) = (source.match_indices(BEGIN), source.match_indices(END));
    let marked = begins.zip(ends).map(|((begin, _), (end, _))| begin..end).collect();
    let mut statements = Statements { marked, found: Vec::new() };
    statements.visit_file(&syn::parse_file(source)?);
    Ok(statements.found)
}

fn weakenings(copy: &Shell) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for (file, weakenings) in WEAKENINGS {
        let source = copy.read_file(file)?;
        for weakening in weakenings {
            let name = weakening.name.to_owned();
            ensure!(source.contains(weakening.code), "{file} lacks the code of `{name}`");
            let source = source.replacen(weakening.code, weakening.weakened, 1);
            mutants.push(Mutant { name, file, source, tests: loom_models });
        }
    }
    Ok(mutants)
}

/// The tests of `ptx-key`, or if none fails, those of soundness that cross crates.
fn key_tests(copy: &Shell) -> Result<Vec<String>> {
    let own = ["--package", "ptx-key", "--lib", "--tests"];
    let across = ["--package", "ptx-tests", "--test", "suite", "soundness"];
    let failed = failing(cmd!(copy, "cargo test --no-fail-fast {own...}"))?;
    if failed.is_empty() { failing(cmd!(copy, "cargo test {across...}")) } else { Ok(failed) }
}

fn failing(tests: Cmd<'_>) -> Result<Vec<String>> {
    let output = tests.env("RUSTFLAGS", "-Awarnings").quiet().ignore_status().output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let name =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let mut failed: Vec<String> = printed.lines().filter_map(name).collect();
    failed.sort();
    failed.dedup();
    if failed.is_empty() && !output.status.success() {
        bail!("no compiling mutant:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(failed)
}

/// The loom models. A failing model may abort its process, so each runs in a separate one.
fn loom_models(copy: &Shell) -> Result<Vec<String>> {
    let models = |rest: &[&str]| {
        let test = cmd!(copy, "cargo test --package ptx-cache --release --lib {rest...}");
        test.env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom -Awarnings").quiet()
    };
    let listed = models(&["--", "--list"]).ignore_stderr().read()?;
    let mut failed = Vec::new();
    for model in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
        let run = models(&[model, "--", "--exact"]).ignore_status().output()?;
        if !run.status.success() {
            failed.push(model.to_owned());
        }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::marked_statements;

    #[test]
    fn each_statement_between_the_marks_is_found_whole() {
        let source = "\
fn f() {
    before();
    // mutation:begin
    one();
    // why
    two(|it| match it {
        inner => a(\"}\"),
        _ => {
            b();
        }
    });

    let three =
        four;
    five(
    );
    // mutation:end
    after();
}
";
        let found = marked_statements(source).unwrap();
        let found: Vec<&str> = found.into_iter().map(|range| &source[range]).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "one();");
        assert!(found[1].starts_with("two(") && found[1].ends_with("});"));
        assert_eq!(found[2], "let three =\n        four;");
        assert_eq!(found[3], "five(\n    );");
    }
}
