//! No crate depends upwards.

use crate::run::{Outcome, cargo, read, root, text};

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
    for entry in std::fs::read_dir(root().join("crates")).map_err(|error| error.to_string())? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_string_lossy().into_owned();
        let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("{name} has no layer: give it one in xtask/src/layers.rs"));
            continue;
        };
        for dependency in ours(&name)? {
            if !allowed.contains(&dependency.as_str()) {
                wrong.push(format!("{name} depends on {dependency}, which is not below it"));
            }
        }
    }
    // Of the disk store only the tier's trait needs the memory cache.
    let disk = read(&root().join("crates/ptx-disk/Cargo.toml"))?;
    if !disk.lines().any(|line| line.starts_with("ptx-cache") && line.contains("optional = true")) {
        wrong.push("ptx-disk depends on ptx-cache without a feature".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn ours(package: &str) -> Outcome<Vec<String>> {
    let tree = text(&mut cargo(&[
        "tree",
        "--package",
        package,
        "--all-features",
        "--edges",
        "normal,build,dev",
        "--depth",
        "1",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))?;
    let names = tree.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let ours = names.filter(|name| LAYERS.iter().any(|(known, _)| known == name));
    Ok(ours.map(str::to_owned).collect())
}
