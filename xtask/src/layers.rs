//! Does every crate depend only on crates below it?

use anyhow::{Result, bail};

use crate::workspace::{directory, members};

/// The crates, lowest first, and which others each may depend on.
///
/// Development dependencies count: a test that needs a higher crate belongs in `tests/`. `tests/`,
/// `bench/` and `xtask/` may depend on everything.
const LAYERS: [(&str, &[&str]); 8] = [
    ("ptx-key", &[]),
    ("ptx-eviction", &[]),
    ("ptx-store", &["ptx-key", "ptx-eviction"]),
    ("ptx-cache", &["ptx-key", "ptx-eviction", "ptx-store"]),
    ("ptx-disk", &["ptx-key", "ptx-eviction", "ptx-store"]),
    ("ptx-cuda", &["ptx-key", "ptx-store", "ptx-cache"]),
    ("ptx-ir", &["ptx-key"]),
    (
        "ptx-cli",
        &["ptx-key", "ptx-eviction", "ptx-store", "ptx-cache", "ptx-disk", "ptx-cuda", "ptx-ir"],
    ),
];

pub(crate) fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for member in members()? {
        if directory(&member).starts_with("crates/") {
            let dependencies = member.dependencies.iter().map(|dependency| &*dependency.name);
            wrong.extend(wrong_dependencies(&member.name, dependencies));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn wrong_dependencies<'a>(name: &str, dependencies: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} has no layer: give it one in xtask/src/layers.rs")];
    };
    dependencies
        .filter(|dependency| LAYERS.iter().any(|(known, _)| known == dependency))
        .filter(|dependency| *dependency != name && !allowed.contains(dependency))
        .map(|dependency| format!("{name} depends on {dependency}, which is not below it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{LAYERS, wrong_dependencies};

    #[test]
    fn only_our_crates_that_are_not_below_are_wrong() {
        let dependencies = ["ahash", "ptx-key", "ptx-disk", "ptx-cache"];
        assert_eq!(
            wrong_dependencies("ptx-cache", dependencies.into_iter()),
            ["ptx-cache depends on ptx-disk, which is not below it"]
        );
        assert_eq!(wrong_dependencies("ptx-new", [].into_iter()).len(), 1);
    }

    #[test]
    fn layers_depend_downwards_only() {
        for (place, (name, allowed)) in LAYERS.iter().enumerate() {
            let below = |other: &&str| LAYERS[..place].iter().any(|(lower, _)| lower == other);
            assert!(allowed.iter().all(below), "{name}");
        }
    }
}
