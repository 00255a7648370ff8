//! Do any files of a crate import each other?
//!
//! An arrow goes from a file to each file of its crate that defines what it names. A cycle of
//! arrows is an error. No tool answers this: `cargo modules dependencies --acyclic` stops at the
//! first cycle and builds rust-analyzer to find it, and `crawk` takes a re-export for the
//! definition. So this section resolves names itself, from the syntax alone:
//!
//! 1. [`modules`] follows `mod` from each target's root file. [`mentions`] collects the paths that
//!    each module imports or uses. Code that only tests compile is left out.
//! 2. [`resolve`] follows each path through imports and re-exports to the module that defines it.
//! 3. A strongly connected component of more than one file is a cycle.
//!
//! A module that declares a child and re-exports from it does not import the child. It does if its
//! own code uses what it re-exports. A call of a method names no file, so it is no arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::workspace::{files, is_rust, members, root, shell};

mod attributes;
mod mentions;
mod modules;
mod resolve;

use modules::{Sources, Target};

/// By importing and imported file, the first line that imports and the path that it names.
type Arrows = BTreeMap<(String, String), (usize, String)>;

pub(crate) fn check() -> Result<()> {
    let shell = shell()?;
    let mut sources = Sources::new();
    for file in files(&shell)?.into_iter().filter(|file| is_rust(file)) {
        let source = shell.read_file(&file)?;
        sources.insert(file, source);
    }
    let mut cycles = BTreeSet::new();
    for target in members()?.iter().flat_map(|member| &member.targets) {
        let path = target.src_path.strip_prefix(root()).unwrap_or(&target.src_path);
        cycles.extend(cycles_of(path.as_str(), &sources)?);
    }
    if cycles.is_empty() {
        return Ok(());
    }
    bail!("{}", cycles.into_iter().collect::<Vec<_>>().join("\n"))
}

/// Describes every cycle of files in the target that starts at `root_file`.
fn cycles_of(root_file: &str, sources: &Sources) -> Result<Vec<String>> {
    let arrows = arrows(&Target::read(root_file, sources)?);
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
                let re_exports_child = mention.is_re_export && target.is_below(owner, id);
                if from != to && !re_exports_child {
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
