//! Which module defines what a path names?

use std::collections::BTreeSet;

use super::mentions::{Brings, Mention};
use super::modules::{Module, Target};

/// What a path names.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    /// An item that this module defines.
    Item(usize),
}

/// The steps that led here: module, path, and whether an item was preferred. A step that repeats
/// leads nowhere new.
type Steps = BTreeSet<(usize, Vec<String>, bool)>;

impl Target {
    /// The modules that define what `scope` mentions, or none if it is another crate's.
    pub(super) fn owners(&self, scope: usize, mention: &Mention) -> Vec<usize> {
        let found = self.follow(scope, &mention.path, true, &mut Steps::new()).unwrap_or_default();
        // Outside of imports, a single name that is a module's belongs to a local variable.
        let is_local = mention.brings == Brings::Nothing && mention.path.len() == 1;
        let owners = found.into_iter().filter_map(|found| match found {
            Found::Module(_) if is_local => None,
            Found::Module(owner) | Found::Item(owner) => Some(owner),
        });
        owners.collect()
    }

    /// Whether `module` is a descendant of `ancestor`.
    pub(super) fn is_below(&self, module: usize, ancestor: usize) -> bool {
        let lineage = std::iter::successors(Some(module), |module| self.modules[*module].parent);
        lineage.skip(1).any(|parent| parent == ancestor)
    }

    /// Follows a path from `scope`. Returns `None` if `scope` does not know its first name.
    ///
    /// If a module and an item share the last name, `prefer_item` chooses.
    fn follow(
        &self,
        scope: usize,
        path: &[String],
        prefer_item: bool,
        steps: &mut Steps,
    ) -> Option<Vec<Found>> {
        if !steps.insert((scope, path.to_vec(), prefer_item)) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => vec![Found::Module(0)],
            "self" => vec![Found::Module(scope)],
            "super" => vec![Found::Module(self.modules[scope].parent?)],
            name => self.look_up(scope, name, prefer_item && rest.is_empty(), steps)?,
        };
        for (index, name) in rest.iter().enumerate() {
            let prefer_item = prefer_item && index + 1 == rest.len();
            let mut next = Vec::new();
            for found in found {
                match found {
                    Found::Module(module) if name == "super" => {
                        next.extend(self.modules[module].parent.map(Found::Module));
                    }
                    Found::Module(module) => {
                        let named = self.look_up(module, name, prefer_item, steps);
                        // A macro declares a name that the module does not know here.
                        next.extend(named.unwrap_or_else(|| vec![Found::Item(module)]));
                    }
                    // The rest of the path names an associated item or a variant.
                    Found::Item(_) => next.push(found),
                }
            }
            found = next;
        }
        Some(found)
    }

    /// Finds what `name` means in a module. Returns `None` if the module does not know it.
    fn look_up(
        &self,
        module: usize,
        name: &str,
        prefer_item: bool,
        steps: &mut Steps,
    ) -> Option<Vec<Found>> {
        let Module { children, declared, mentions, .. } = &self.modules[module];
        let children = children.iter().filter(|(child, _)| child == name);
        let children: Vec<Found> = children.map(|(_, child)| Found::Module(*child)).collect();
        if !children.is_empty() && !prefer_item {
            return Some(children);
        }
        if declared.contains(name) {
            return Some(vec![Found::Item(module)]);
        }
        let imports: Vec<&Mention> = mentions
            .iter()
            .filter(|mention| matches!(&mention.brings, Brings::Name(brought) if brought == name))
            .collect();
        if !imports.is_empty() {
            let follow = |import: &Mention| self.follow(module, &import.path, prefer_item, steps);
            return Some(imports.into_iter().filter_map(follow).flatten().collect());
        }
        if !children.is_empty() {
            return Some(children);
        }
        for glob in mentions.iter().filter(|mention| mention.brings == Brings::EverythingIn) {
            for found in self.follow(module, &glob.path, false, steps).unwrap_or_default() {
                let Found::Module(other) = found else { continue };
                let named = self.look_up(other, name, prefer_item, steps).unwrap_or_default();
                if !named.is_empty() {
                    return Some(named);
                }
            }
        }
        None
    }
}
