//! Every dependency has a licence that goes with ours and comes from crates.io.
//!
//! This is the half of `cargo deny` that needs no advisory database; the machines that check this
//! cannot fetch one.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::{Outcome, cargo, text};

/// A licence expression is fine if one of its alternatives names only these.
const FINE: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(crate) fn check() -> Outcome {
    let tree = text(&mut cargo(&[
        "tree",
        "--workspace",
        "--all-features",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p}\t{l}",
    ]))?;
    let packages: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'))
        .map(|(package, licence)| (package.trim(), licence.trim_end_matches(" (*)")))
        .collect();
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, licence) in &packages {
        // `name vX.Y.Z`, followed by the folder of a workspace member or by where else it is from.
        let mut words = package.splitn(3, ' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        versions.entry(name).or_default().insert(version);
        if let Some(from) = words.next()
            && from != "(proc-macro)"
            && !from.contains(&*crate::run::root().to_string_lossy())
        {
            wrong.push(format!("{name} {version} is not from crates.io: {from}"));
        }
        if !is_fine(licence) {
            wrong.push(format!("{name} {version} has the licence `{licence}`"));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let list: Vec<&str> = versions.iter().copied().collect();
        println!("twice: {name} {}", list.join(", "));
    }
    println!("{} packages", packages.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn is_fine(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain
        .split(" OR ")
        .any(|alternative| alternative.split(" AND ").all(|licence| FINE.contains(&licence.trim())))
}
