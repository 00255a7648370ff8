//! The mutation check: each field deleted from the key, each ordering of the memory cache
//! weakened, one at a time; a test must notice each.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Outcome, cargo, command, read, root, text, write};

/// Files whose statements between `// mutation:begin` and `// mutation:end` are deleted in turn.
const FIELDS: [&str; 2] = ["crates/ptx-key/src/builder.rs", "crates/ptx-key/src/module.rs"];

/// One weakening: what it is, the file, the code, and what takes its place.
type Weakening = (&'static str, &'static str, &'static str, &'static str);

const WEAKENINGS: [Weakening; 14] = [
    (
        "publish: Release store to Relaxed",
        "table.rs",
        "store(tagged, Ordering::Release)",
        "store(tagged, Ordering::Relaxed)",
    ),
    (
        "find: Acquire load to Relaxed",
        "table.rs",
        "let word = self.word(group).load(Ordering::Acquire);",
        "let word = self.word(group).load(Ordering::Relaxed);",
    ),
    (
        "take: Release store to Relaxed",
        "table.rs",
        "position, DEAD), Ordering::Release",
        "position, DEAD), Ordering::Relaxed",
    ),
    ("table swap: AcqRel to Relaxed", "shard.rs", "Ordering::AcqRel", "Ordering::Relaxed"),
    (
        "table load: Acquire to Relaxed",
        "shard.rs",
        "self.table.load(Ordering::Acquire, guard)",
        "self.table.load(Ordering::Relaxed, guard)",
    ),
    (
        "remove: dropped at once",
        "shard.rs",
        "guard.defer(move || drop(value));\n        Some(slot)",
        "drop(value);\n        Some(slot)",
    ),
    (
        "replace: dropped at once",
        "shard.rs",
        "guard.defer(move || drop(value));\n        }\n        replaced",
        "drop(value);\n        }\n        replaced",
    ),
    (
        "old table freed at once",
        "shard.rs",
        "unsafe { guard.defer_destroy(old) };",
        "drop(unsafe { old.into_owned() });",
    ),
    (
        "join: no second look",
        "flight.rs",
        "if let Some(value) = published() {",
        "if let Some(value) = published().filter(|_| false) {",
    ),
    ("a dropped leader lands nothing", "flight.rs", "self.set(Err(CacheError::Panicked));", ""),
    ("landing wakes nobody", "flight.rs", "self.flight.landing.notify_all();", ""),
    ("circles are not refused", "waits.rs", "return Err(Refusal::Circle);", "break;"),
    (
        "reserve: load and store",
        "accounting.rs",
        "self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()",
        "fits(self.0.load(Ordering::Relaxed)).map(|n| self.0.store(n, Ordering::Relaxed)).is_some()",
    ),
    (
        "release: load and store",
        "accounting.rs",
        "self.0.fetch_sub(pack(Resident { entries: 1, bytes: weight }), Ordering::Relaxed);",
        "let n = self.0.load(Ordering::Relaxed); self.0.store(n - pack(Resident { entries: 1, bytes: weight }), Ordering::Relaxed);",
    ),
];

pub(crate) fn run() -> Outcome {
    let copy = copied_workspace()?;
    let mut survivors = 0;
    for file in FIELDS {
        let path = copy.join(file);
        let source = read(&path)?;
        for (from, to) in statements(&source) {
            let name = source.get(from..to).unwrap_or_default().split_whitespace();
            let name: String = name.collect::<Vec<_>>().join(" ").chars().take(72).collect();
            write(
                &path,
                &[source.get(..from), source.get(to..)].map(Option::unwrap_or_default).concat(),
            )?;
            survivors += usize::from(!report(&name, &key_tests(&copy)?));
        }
        write(&path, &source)?;
    }
    for (name, file, code, weakened) in WEAKENINGS {
        let path = copy.join("crates/ptx-cache/src").join(file);
        let source = read(&path)?;
        if !source.contains(code) {
            return Err(format!("{name}: {file} has no longer `{code}`"));
        }
        write(&path, &source.replacen(code, weakened, 1))?;
        survivors += usize::from(!report(name, &loom_models(&copy)?));
        write(&path, &source)?;
    }
    if survivors == 0 { Ok(()) } else { Err(format!("{survivors} mutants survived")) }
}

/// Prints a row; whether any test noticed.
fn report(mutant: &str, noticed: &[String]) -> bool {
    let tests = if noticed.is_empty() { "SURVIVED".to_owned() } else { noticed.join(", ") };
    println!("| `{mutant}` | {tests} |");
    !noticed.is_empty()
}

/// The sources that git knows, in a folder of their own, so that a mutant never meets real work.
fn copied_workspace() -> Outcome<PathBuf> {
    let copy = root().join("target/mutation/workspace");
    if copy.exists() {
        std::fs::remove_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    for file in text(&mut command("git", &["ls-files"]))?.lines() {
        let (from, to) = (root().join(file), copy.join(file));
        let folder = to.parent().unwrap_or(&copy);
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        std::fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(copy)
}

/// Byte ranges of the statements between the marks. A statement ends with a line that ends with
/// `;` at the indentation of its first line.
fn statements(source: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut inside, mut begun, mut offset) = (false, None, 0);
    for line in source.split_inclusive('\n') {
        let (indent, code) = (line.len() - line.trim_start().len(), line.trim());
        if code == "// mutation:begin" || code == "// mutation:end" {
            inside = code.ends_with("begin");
        } else if inside && !code.is_empty() && !code.starts_with("//") {
            let (start, first_indent) = *begun.get_or_insert((offset, indent));
            if code.ends_with(';') && indent == first_indent {
                found.push((start, offset + line.len()));
                begun = None;
            }
        }
        offset += line.len();
    }
    found
}

fn key_tests(copy: &Path) -> Outcome<Vec<String>> {
    let arguments = [
        "test",
        "--package",
        "ptx-key",
        "--package",
        "ptx-tests",
        "--no-fail-fast",
        "--lib",
        "--tests",
    ];
    let mut command = cargo(&arguments);
    command.env("RUSTFLAGS", "-Awarnings").env("PTX_CORPUS", root().join("../shared/corpus"));
    failures(&mut command, copy)
}

/// A model that fails may end the process, so each runs in one of its own.
fn loom_models(copy: &Path) -> Outcome<Vec<String>> {
    let arguments = ["test", "--package", "ptx-cache", "--release", "--lib"];
    let models = |rest: &[&str]| {
        let mut command = cargo(&arguments);
        command.args(rest).env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom -Awarnings");
        in_copy(&mut command, copy);
        command
    };
    let listed = text(&mut models(&["loom_models", "--", "--list"]))?;
    let mut noticed = Vec::new();
    for model in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
        let passed = crate::run::output(&mut models(&[model, "--", "--exact"]))?.status.success();
        noticed.extend((!passed).then(|| model.trim_start_matches("loom_models::").to_owned()));
    }
    Ok(noticed)
}

fn failures(command: &mut Command, copy: &Path) -> Outcome<Vec<String>> {
    let output = crate::run::output(in_copy(command, copy))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let failed =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let mut noticed: Vec<String> = said.lines().filter_map(failed).collect();
    noticed.sort();
    noticed.dedup();
    if noticed.is_empty() && !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("a mutant did not compile: {errors}"));
    }
    Ok(noticed)
}

fn in_copy<'c>(command: &'c mut Command, copy: &Path) -> &'c mut Command {
    let target = copy.parent().unwrap_or(copy).join("target");
    command.current_dir(copy).env("CARGO_TARGET_DIR", target)
}
