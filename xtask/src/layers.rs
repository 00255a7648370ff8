//! No crate depends upwards.

use crate::run::{Outcome, cargo, entries, read, root, text};

/// The crates, lowest first, with what each may depend on of ours.
///
/// Development dependencies count too: a crate whose tests need what is above it has tests that
/// belong in `tests/`, which with `bench/`, `xtask/` and the binary may depend on all.
const LAYERS: [(&str, &[&str]); 7] = [
    ("ptx-key", &[]),
    ("ptx-eviction", &[]),
    ("ptx-cache", &["ptx-key", "ptx-eviction"]),
    ("ptx-disk", &["ptx-key", "ptx-cache", "ptx-eviction"]),
    ("ptx-cuda", &["ptx-key", "ptx-cache"]),
    ("ptx-ir", &["ptx-key"]),
    ("ptx-cli", &["ptx-key", "ptx-eviction", "ptx-cache", "ptx-disk", "ptx-cuda", "ptx-ir"]),
];

pub(crate) fn check() -> Outcome {
    let mut wrong = Vec::new();
    for folder in entries(&root().join("crates"))? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("{name} has no layer: give it one in xtask/src/layers.rs"));
            continue;
        };
        wrong.extend(upward(&name, allowed, &dependencies(&name)?));
    }
    // Of the disk store only the tier's trait needs the memory cache.
    let disk = read(&root().join("crates/ptx-disk/Cargo.toml"))?;
    if !disk.lines().any(|line| line.starts_with("ptx-cache") && line.contains("optional = true")) {
        wrong.push("ptx-disk depends on ptx-cache without a feature".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// What `name` depends on of ours and may not.
fn upward(name: &str, allowed: &[&str], tree: &str) -> Vec<String> {
    let dependencies = tree.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    dependencies
        .filter(|dependency| LAYERS.iter().any(|(known, _)| known == dependency))
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("{name} depends on {dependency}, which is not below it"))
        .collect()
}

/// The package and, under it, what it depends on itself, one a line.
fn dependencies(package: &str) -> Outcome<String> {
    text(&mut cargo(&[
        "tree",
        "--package",
        package,
        "--all-features",
        "--edges",
        "normal,build,dev",
        "--target",
        "all",
        "--depth",
        "1",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))
}

#[cfg(test)]
mod tests {
    use super::upward;

    #[test]
    fn only_dependencies_of_ours_that_are_not_allowed_are_upward() {
        let tree =
            "ptx-cache v0.1.0 (/r)\nahash v0.8.12\nptx-disk v0.1.0 (/r)\nptx-key v0.1.0 (/r)";
        assert_eq!(
            upward("ptx-cache", &["ptx-key"], tree),
            ["ptx-cache depends on ptx-disk, which is not below it"]
        );
    }
}
