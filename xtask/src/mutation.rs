//! The mutation check: each field deleted from the key, each ordering of the memory cache
//! weakened, one at a time; a test must notice each.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::run::{Outcome, at, cargo, make_folder, output, read, root, sources, text, write};

mod weakenings;

use weakenings::WEAKENINGS;

/// Files whose statements between `// mutation:begin` and `// mutation:end` are deleted in turn.
const FIELDS: [&str; 2] = ["crates/ptx-key/src/builder.rs", "crates/ptx-key/src/module.rs"];

const CACHE: &str = "crates/ptx-cache/src";

/// One change to one file, and how to run the tests that must notice it.
struct Mutant {
    name: String,
    file: PathBuf,
    source: String,
    tests: fn(&Workspace) -> Outcome<Vec<String>>,
}

/// A copy of the sources, so that a mutant never meets real work.
struct Workspace {
    folder: PathBuf,
}

/// Every mutant, or those whose file's path contains `part`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let part = arguments.first().map_or("", String::as_str);
    let workspace = Workspace::copy()?;
    let mut mutants = deletions(&workspace)?;
    mutants.extend(weakenings(&workspace)?);
    mutants.retain(|mutant| mutant.file.to_string_lossy().contains(part));
    if mutants.is_empty() {
        return Err(format!("no mutants in files of a name with `{part}`"));
    }
    for tests in [key_tests, loom_models] {
        if mutants.iter().any(|mutant| std::ptr::fn_addr_eq(mutant.tests, tests)) {
            let failing = tests(&workspace)?;
            if !failing.is_empty() {
                return Err(format!("these fail without a mutant: {}", failing.join(", ")));
            }
        }
    }
    println!("| mutant | noticed by |\n| --- | --- |");
    let mut survivors = 0;
    for mutant in &mutants {
        let path = workspace.folder.join(&mutant.file);
        let whole = read(&path)?;
        write(&path, &mutant.source)?;
        let noticed = (mutant.tests)(&workspace)?;
        write(&path, &whole)?;
        survivors += usize::from(noticed.is_empty());
        let tests = if noticed.is_empty() { "SURVIVED".to_owned() } else { noticed.join(", ") };
        println!("| `{}` | {tests} |", mutant.name);
    }
    println!("{} mutants, {survivors} survived", mutants.len());
    if survivors == 0 { Ok(()) } else { Err(format!("{survivors} mutants survived")) }
}

fn deletions(workspace: &Workspace) -> Outcome<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for file in FIELDS {
        let source = read(&workspace.folder.join(file))?;
        let found = statements(&source);
        if found.is_empty() {
            return Err(format!("{file}: no statements between the marks of the mutation check"));
        }
        mutants.extend(found.into_iter().map(|(before, statement, after)| Mutant {
            name: statement.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|"),
            file: file.into(),
            source: [before, after].concat(),
            tests: key_tests,
        }));
    }
    Ok(mutants)
}

fn weakenings(workspace: &Workspace) -> Outcome<Vec<Mutant>> {
    let mutants = WEAKENINGS.iter().map(|weakening| {
        let file = Path::new(CACHE).join(weakening.file);
        let source = read(&workspace.folder.join(&file))?;
        if !source.contains(weakening.code) {
            return Err(format!("{}: {CACHE}/{} has it no longer", weakening.name, weakening.file));
        }
        Ok(Mutant {
            name: weakening.name.to_owned(),
            source: source.replacen(weakening.code, weakening.weakened, 1),
            file,
            tests: loom_models,
        })
    });
    mutants.collect()
}

/// The statements between the marks, each with what is before and after it. A statement ends with
/// a line that ends with `;` where as many brackets were closed as opened.
fn statements(source: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    let (mut inside, mut begun, mut depth, mut offset) = (false, None, 0_usize, 0);
    for line in source.split_inclusive('\n') {
        let code = line.trim();
        if code == "// mutation:begin" || code == "// mutation:end" {
            inside = code.ends_with("begin");
        } else if inside && !code.is_empty() && !code.starts_with("//") {
            let start = *begun.get_or_insert(offset);
            depth += code.matches(['(', '[', '{']).count();
            depth = depth.saturating_sub(code.matches([')', ']', '}']).count());
            if code.ends_with(';') && depth == 0 {
                let (head, after) = source.split_at(offset + line.len());
                let (before, statement) = head.split_at(start);
                found.push((before, statement, after));
                begun = None;
            }
        }
        offset += line.len();
    }
    found
}

impl Workspace {
    fn copy() -> Outcome<Self> {
        let folder = root().join("target/mutation/workspace");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(at(&folder))?;
        }
        for file in sources()? {
            let (from, to) = (root().join(&file), folder.join(&file));
            make_folder(to.parent().unwrap_or(&folder))?;
            std::fs::copy(&from, &to).map_err(at(&from))?;
        }
        Ok(Self { folder })
    }

    fn cargo(&self, arguments: &[&str], flags: &str) -> Command {
        let mut cargo = cargo(arguments);
        cargo.current_dir(&self.folder).env("RUSTFLAGS", flags);
        cargo.env("CARGO_TARGET_DIR", root().join("target/mutation/target"));
        cargo
    }
}

/// Which tests of keys fail: those of the crate, or where none does, those that cross crates.
fn key_tests(workspace: &Workspace) -> Outcome<Vec<String>> {
    let own = failing(workspace, &["--package", "ptx-key", "--lib", "--tests"])?;
    if own.is_empty() {
        failing(workspace, &["--package", "ptx-tests", "--test", "suite", "soundness"])
    } else {
        Ok(own)
    }
}

fn failing(workspace: &Workspace, arguments: &[&str]) -> Outcome<Vec<String>> {
    let mut tests = workspace.cargo(&["test", "--no-fail-fast"], "-Awarnings");
    let output = output(tests.args(arguments))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut failed: Vec<String> = said
        .lines()
        .filter_map(|line| {
            Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned())
        })
        .collect();
    failed.sort();
    failed.dedup();
    if failed.is_empty() && !output.status.success() { Err(broken(&output)) } else { Ok(failed) }
}

/// Which models fail. One that does may end the process, so each runs in one of its own.
fn loom_models(workspace: &Workspace) -> Outcome<Vec<String>> {
    let arguments = ["test", "--package", "ptx-cache", "--release", "--lib"];
    let models = |rest: &[&str]| {
        let mut models = workspace.cargo(&arguments, "--cfg loom --cfg crossbeam_loom -Awarnings");
        models.args(rest);
        models
    };
    let listed = text(&mut models(&["loom_models", "--", "--list"]))?;
    let mut failed = Vec::new();
    for model in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
        if !output(&mut models(&[model, "--", "--exact"]))?.status.success() {
            failed.push(model.trim_start_matches("loom_models::").to_owned());
        }
    }
    Ok(failed)
}

fn broken(output: &Output) -> String {
    format!(
        "a mutant did not compile or its tests did not run: {}",
        String::from_utf8_lossy(&output.stderr)
    )
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn statements_end_where_their_brackets_are_closed() {
        let source = "\
before;
    // mutation:begin
    one();
    // why
    two(|it| match it {
        inner => a();
        _ => {
            b();
        }
    });

    let three =
        four;
    five(
    );
    // mutation:end
after;
";
        let found: Vec<&str> = statements(source).iter().map(|it| it.1.trim()).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "one();");
        assert!(found[1].starts_with("two(") && found[1].ends_with("});"));
        assert_eq!(found[2], "let three =\n        four;");
        assert_eq!(found[3], "five(\n    );");
        for (before, statement, after) in statements(source) {
            assert_eq!([before, statement, after].concat(), source);
        }
    }
}
