//! In which module is that defined which a path names?

use std::collections::BTreeSet;

use super::modules::{Brings, Mention, Module, Target};

/// What a path leads to.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

/// Paths that are being followed, by module. One that comes up again leads nowhere new.
type Followed = BTreeSet<(usize, Vec<String>, bool)>;

impl Target {
    /// The modules that define what is mentioned in `scope`; none if another crate does.
    pub(super) fn owners(&self, scope: usize, mention: &Mention) -> Vec<usize> {
        let found = self.follow(scope, &mention.path, true, &mut Followed::new());
        // A single name outside of a `use` that is a module's is a local variable's.
        let is_local = mention.brings == Brings::Nothing && mention.path.len() == 1;
        let owners = found.unwrap_or_default().into_iter().filter_map(|found| match found {
            Found::Module(_) if is_local => None,
            Found::Module(owner) | Found::Item(owner) => Some(owner),
        });
        owners.collect()
    }

    /// Whether `module` is below `ancestor`.
    pub(super) fn is_below(&self, module: usize, ancestor: usize) -> bool {
        let parents = std::iter::successors(Some(module), |module| self.modules[*module].parent);
        parents.skip(1).any(|parent| parent == ancestor)
    }

    /// Follows a path from `scope`. `item_first` prefers an item to a module of the same name.
    /// Gives nothing if `scope` does not know the first name.
    fn follow(
        &self,
        scope: usize,
        path: &[String],
        item_first: bool,
        followed: &mut Followed,
    ) -> Option<Vec<Found>> {
        if !followed.insert((scope, path.to_vec(), item_first)) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => vec![Found::Module(0)],
            "self" => vec![Found::Module(scope)],
            "super" => vec![Found::Module(self.modules[scope].parent?)],
            name => self.look_up(scope, name, item_first && rest.is_empty(), followed)?,
        };
        for (index, name) in rest.iter().enumerate() {
            let item_first = item_first && index + 1 == rest.len();
            let mut next = Vec::new();
            for found in found {
                match found {
                    Found::Module(module) if name == "super" => {
                        next.extend(self.modules[module].parent.map(Found::Module));
                    }
                    Found::Module(module) => {
                        let named = self.look_up(module, name, item_first, followed);
                        // A name that a macro declares.
                        next.extend(named.unwrap_or_else(|| vec![Found::Item(module)]));
                    }
                    // An associated item or a variant.
                    Found::Item(_) => next.push(found),
                }
            }
            found = next;
        }
        Some(found)
    }

    /// What a module calls `name`. Gives nothing if it does not know the name.
    fn look_up(
        &self,
        module: usize,
        name: &str,
        item_first: bool,
        followed: &mut Followed,
    ) -> Option<Vec<Found>> {
        let Module { children, declared, mentions, .. } = &self.modules[module];
        let children = children.iter().filter(|(child, _)| child == name);
        let children: Vec<Found> = children.map(|(_, child)| Found::Module(*child)).collect();
        if !children.is_empty() && !item_first {
            return Some(children);
        }
        if declared.contains(name) {
            return Some(vec![Found::Item(module)]);
        }
        let (mut found, mut is_known) = (Vec::new(), false);
        for import in mentions {
            if matches!(&import.brings, Brings::Name(brought) if brought == name) {
                is_known = true;
                found.extend(
                    self.follow(module, &import.path, item_first, followed).unwrap_or_default(),
                );
            }
        }
        if is_known {
            return Some(found);
        }
        if !children.is_empty() {
            return Some(children);
        }
        for glob in mentions.iter().filter(|mention| mention.brings == Brings::EverythingIn) {
            for found in self.follow(module, &glob.path, false, followed).unwrap_or_default() {
                let Found::Module(other) = found else { continue };
                let named = self.look_up(other, name, item_first, followed).unwrap_or_default();
                if !named.is_empty() {
                    return Some(named);
                }
            }
        }
        None
    }
}
