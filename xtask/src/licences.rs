//! Every dependency has a licence that goes with ours and comes from crates.io.
//!
//! This is the half of `cargo deny` that needs no advisory database; the machines that check this
//! cannot fetch one.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::str::SplitWhitespace;

use crate::run::{Outcome, cargo, root, text};

/// Licences that whoever uses this project under either of its own can keep to.
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
        "--target",
        "all",
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
            && !from.contains(&*root().to_string_lossy())
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

/// Evaluates an SPDX expression, in which `AND` binds closer than `OR`.
fn is_fine(expression: &str) -> bool {
    // Older packages write `MIT/Apache-2.0`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words) && words.next().is_none()
}

type Words<'e, 'i> = &'i mut Peekable<SplitWhitespace<'e>>;

fn any(words: Words<'_, '_>) -> bool {
    let mut fine = all(words);
    while words.next_if_eq(&"OR").is_some() {
        fine |= all(words);
    }
    fine
}

fn all(words: Words<'_, '_>) -> bool {
    let mut fine = one(words);
    while words.next_if_eq(&"AND").is_some() {
        fine &= one(words);
    }
    fine
}

fn one(words: Words<'_, '_>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        return any(words) && words.next() == Some(")");
    }
    let mut licence = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    FINE.contains(&licence.as_str())
}

#[cfg(test)]
mod tests {
    use super::is_fine;

    #[test]
    fn alternatives_need_one_fine_licence_and_conjunctions_need_all() {
        for fine in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(is_fine(fine), "{fine}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH strings-attached",
            "(MIT",
            "MIT Apache-2.0",
        ] {
            assert!(!is_fine(bad), "{bad}");
        }
    }
}
