//! Do any files of a crate import each other?
//!
//! An arrow goes from a file to each file of its crate that defines what it names. Arrows that form
//! a cycle are an error. `cargo modules dependencies --acyclic` stops at the first cycle and builds
//! rust-analyzer to find it; the crate `crawk` takes a re-export for the definition. So the names
//! are resolved here, from the syntax alone:
//!
//! 1. [`modules`] follows `mod` from each target's root and notes which names a module declares,
//!    imports and mentions. It leaves out what only tests compile.
//! 2. [`resolve`] follows each mentioned path through imports and re-exports to its definition.
//! 3. A strongly connected component of more than one file is a cycle.
//!
//! A module that declares a child and re-exports from it does not import the child. It does when
//! its own code names what it re-exports. A call of a method names no file, so it is no arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use cargo_metadata::MetadataCommand;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::run::{Outcome, read, root, sources};

mod modules;
mod resolve;

use modules::{Sources, Target};

/// For each file and each file that it imports, where it first does so.
type Arrows = BTreeMap<(String, String), Evidence>;

/// A line and the path that stands there.
type Evidence = (usize, String);

pub(crate) fn check() -> Outcome {
    let mut files = Sources::new();
    for file in sources()? {
        if Path::new(&file).extension().is_some_and(|extension| extension == "rs") {
            let source = read(&root().join(&file))?;
            files.insert(file, source);
        }
    }
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec();
    let metadata = metadata.map_err(|error| error.to_string())?;
    let mut cycles = BTreeSet::new();
    for target in metadata.packages.iter().flat_map(|package| &package.targets) {
        let path = target.src_path.strip_prefix(root()).unwrap_or(&target.src_path);
        cycles.extend(cycles_of(path.as_str(), &files)?);
    }
    println!("{} cycles of files that import each other", cycles.len());
    if cycles.is_empty() { Ok(()) } else { Err(cycles.into_iter().collect::<Vec<_>>().join("\n")) }
}

/// Describes every cycle of files in the target whose root is this file.
fn cycles_of(target_root: &str, sources: &Sources) -> Outcome<Vec<String>> {
    let arrows = arrows(&Target::read(target_root, sources)?);
    let graph: DiGraphMap<&str, ()> =
        arrows.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let mut described = Vec::new();
    for files in tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1) {
        let mut text = format!("{} files import each other:", files.len());
        for ((from, to), (line, path)) in &arrows {
            if files.contains(&from.as_str()) && files.contains(&to.as_str()) {
                let _ = write!(text, "\n  {from}:{line} imports {to} (`{path}`)");
            }
        }
        described.push(text);
    }
    Ok(described)
}

fn arrows(target: &Target) -> Arrows {
    let mut arrows = Arrows::new();
    for (id, module) in target.modules.iter().enumerate() {
        for mention in &module.mentions {
            for owner in target.owners(id, mention) {
                let (from, to) = (&module.file, &target.modules[owner].file);
                let is_reexport = mention.reexport && target.is_below(owner, id);
                if from != to && !is_reexport {
                    let evidence = (mention.line, mention.path.join("::"));
                    let first =
                        arrows.entry((from.clone(), to.clone())).or_insert(evidence.clone());
                    *first = evidence.min(first.clone());
                }
            }
        }
    }
    arrows
}

#[cfg(test)]
mod tests;
