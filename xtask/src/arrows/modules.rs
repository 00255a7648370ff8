//! Which modules does a target have, and which names does each know?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use syn::{
    Ident, Item, ItemConst, ItemEnum, ItemStatic, ItemStruct, ItemTrait, ItemType, ItemUnion,
};

use super::attributes::{only_in_tests, path};
use super::mentions::{Mention, mentions};

/// Files and their contents, by path from the repository's root.
pub(super) type Sources = BTreeMap<String, String>;

/// The modules of one library, binary, test, bench or example. The first is its root.
pub(super) struct Target {
    pub(super) modules: Vec<Module>,
}

pub(super) struct Module {
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    /// Child modules by name. Two have the same name if no configuration compiles both.
    pub(super) children: Vec<(String, usize)>,
    /// The names of all other items.
    pub(super) declared: BTreeSet<String>,
    pub(super) mentions: Vec<Mention>,
}

impl Target {
    /// Reads the target that starts at `root_file`.
    pub(super) fn read(root_file: &str, sources: &Sources) -> Result<Self> {
        let mut target = Self { modules: Vec::new() };
        target.read_file(root_file, &directory(root_file), None, sources)?;
        Ok(target)
    }

    /// Reads the module in `file`, whose child modules have their files in `children`.
    fn read_file(
        &mut self,
        file: &str,
        children: &str,
        parent: Option<usize>,
        sources: &Sources,
    ) -> Result<usize> {
        let source = sources.get(file).with_context(|| format!("{file}: no such file"))?;
        let parsed = syn::parse_file(source).with_context(|| file.to_owned())?;
        self.read_items(file, children, parent, &parsed.items, sources)
    }

    fn read_items(
        &mut self,
        file: &str,
        children: &str,
        parent: Option<usize>,
        items: &[Item],
        sources: &Sources,
    ) -> Result<usize> {
        let id = self.modules.len();
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            children: Vec::new(),
            declared: items.iter().filter_map(name).map(Ident::to_string).collect(),
            mentions: mentions(items),
        });
        for item in items {
            let Item::Mod(item) = item else { continue };
            if only_in_tests(&item.attrs) {
                continue;
            }
            let name = item.ident.to_string();
            let below = format!("{children}/{name}");
            let child = if let Some((_, items)) = &item.content {
                self.read_items(file, &below, Some(id), items, sources)?
            } else if let Some(path) = path(&item.attrs) {
                let file = format!("{}/{path}", directory(file));
                self.read_file(&file, &directory(&file), Some(id), sources)?
            } else {
                let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
                let found = candidates.iter().find(|file| sources.contains_key(*file));
                let found =
                    found.with_context(|| format!("{file}: no file for module `{name}`"))?;
                self.read_file(found, &below, Some(id), sources)?
            };
            self.modules[id].children.push((name, child));
        }
        Ok(id)
    }
}

fn directory(file: &str) -> String {
    Path::new(file).parent().unwrap_or(Path::new("")).to_string_lossy().into_owned()
}

fn name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(ItemConst { ident, .. })
        | Item::Enum(ItemEnum { ident, .. })
        | Item::Static(ItemStatic { ident, .. })
        | Item::Struct(ItemStruct { ident, .. })
        | Item::Trait(ItemTrait { ident, .. })
        | Item::Type(ItemType { ident, .. })
        | Item::Union(ItemUnion { ident, .. }) => Some(ident),
        Item::Fn(function) => Some(&function.sig.ident),
        Item::Macro(definition) => definition.ident.as_ref(),
        _ => None,
    }
}
