//! Benchmarks by name.

use crate::run::{Outcome, cargo, read, root, run as execute};

/// Name, package and bench target.
const BENCHES: [(&str, &str, &str); 6] = [
    ("memory", "ptx-bench", "memory"),
    ("retention", "ptx-bench", "retention"),
    ("disk", "ptx-bench", "disk"),
    ("modules", "ptx-bench", "modules"),
    ("key", "ptx-key", "key"),
    ("selection", "ptx-eviction", "selection"),
];

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let here = here()?;
    let Some((name, rest)) = arguments.split_first() else {
        println!("cargo xtask bench NAME, where NAME is one of:");
        for (name, ..) in &here {
            println!("  {name}");
        }
        return Ok(());
    };
    let Some((_, package, bench)) = here.iter().find(|(known, ..)| known == name) else {
        return Err(format!("no bench `{name}`; `cargo xtask bench` lists them"));
    };
    let mut command = cargo(&["bench", "--package", package, "--bench", bench, "--"]);
    execute(command.args(rest))
}

/// Those whose target exists.
fn here() -> Outcome<Vec<(&'static str, &'static str, &'static str)>> {
    let mut here = Vec::new();
    for (name, package, bench) in BENCHES {
        let folder =
            if package == "ptx-bench" { "bench".to_owned() } else { format!("crates/{package}") };
        let manifest = read(&root().join(folder).join("Cargo.toml"))?;
        if manifest.contains("[[bench]]") && manifest.contains(&format!("name = \"{bench}\"")) {
            here.push((name, package, bench));
        }
    }
    Ok(here)
}
