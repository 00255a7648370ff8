//! Which modules does a target have, and which names does each declare, import and mention?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprLit, Ident, ImplItemFn, Item, ItemConst, ItemEnum, ItemFn, ItemImpl,
    ItemMacro, ItemMod, ItemStatic, ItemStruct, ItemTrait, ItemType, ItemUnion, ItemUse, Lit,
    Macro, Meta, MetaList, MetaNameValue, Path, Token, UseName, UseRename, UseTree, VisRestricted,
    Visibility, parse_file,
};

use crate::run::Outcome;

/// What is in each file, by its path from the repository's root.
pub(super) type Sources = BTreeMap<String, String>;

/// The modules of one library, binary, test or bench. The first is its root.
pub(super) struct Target {
    pub(super) modules: Vec<Module>,
}

#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    /// By name. Two modules may share a name if no configuration has both.
    pub(super) children: Vec<(String, usize)>,
    /// Items other than modules.
    pub(super) declared: BTreeSet<String>,
    pub(super) mentions: Vec<Mention>,
}

/// A path that stands in a module.
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
    pub(super) brings: Brings,
    /// Whether the module brings the name into scope for others.
    pub(super) reexport: bool,
}

/// What a path brings into the module's scope.
#[derive(PartialEq)]
pub(super) enum Brings {
    Nothing,
    Name(String),
    EverythingIn,
}

impl Target {
    /// Reads the target whose root is the file `root`.
    pub(super) fn read(root: &str, sources: &Sources) -> Outcome<Self> {
        let mut target = Self { modules: Vec::new() };
        target.read_file(root, &directory(root), None, sources)?;
        Ok(target)
    }

    /// Reads the module in `file`, whose children's files are in `children`.
    fn read_file(
        &mut self,
        file: &str,
        children: &str,
        parent: Option<usize>,
        sources: &Sources,
    ) -> Outcome<usize> {
        let source = sources.get(file).ok_or_else(|| format!("{file}: no such file"))?;
        let parsed = parse_file(source).map_err(|error| format!("{file}: {error}"))?;
        self.read_items(file, children, parent, &parsed.items, sources)
    }

    fn read_items(
        &mut self,
        file: &str,
        children: &str,
        parent: Option<usize>,
        items: &[Item],
        sources: &Sources,
    ) -> Outcome<usize> {
        let mut module = Module { file: file.to_owned(), parent, ..Module::default() };
        for item in items {
            module.visit_item(item);
            module.declared.extend(name(item).map(Ident::to_string));
        }
        let id = self.modules.len();
        self.modules.push(module);
        for item in items {
            let Item::Mod(item) = item else { continue };
            if item.attrs.iter().any(only_in_tests) {
                continue;
            }
            let name = item.ident.to_string();
            let below = format!("{children}/{name}");
            let child = if let Some((_, items)) = &item.content {
                self.read_items(file, &below, Some(id), items, sources)?
            } else if let Some(path) = item.attrs.iter().find_map(path_attribute) {
                let file = format!("{}/{path}", directory(file));
                self.read_file(&file, &directory(&file), Some(id), sources)?
            } else {
                let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
                let found = candidates.iter().find(|file| sources.contains_key(*file));
                let found = found.ok_or_else(|| format!("{file}: no file for module `{name}`"))?;
                self.read_file(found, &below, Some(id), sources)?
            };
            self.modules[id].children.push((name, child));
        }
        Ok(id)
    }
}

fn directory(file: &str) -> String {
    FilePath::new(file).parent().unwrap_or(FilePath::new("")).to_string_lossy().into_owned()
}

impl Module {
    fn mention(&mut self, path: Vec<String>, line: usize) {
        self.mentions.push(Mention { path, line, brings: Brings::Nothing, reexport: false });
    }

    /// Notes each path of a `use`, of which `prefix` is read.
    fn import(&mut self, tree: &UseTree, prefix: &[String], reexport: bool) {
        let (ident, brought, span) = match tree {
            UseTree::Path(path) => {
                let prefix = [prefix, &[path.ident.to_string()]].concat();
                return self.import(&path.tree, &prefix, reexport);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, prefix, reexport));
            }
            UseTree::Name(UseName { ident }) => (Some(ident), Some(ident), ident.span()),
            UseTree::Rename(UseRename { ident, rename, .. }) => {
                (Some(ident), Some(rename), ident.span())
            }
            UseTree::Glob(glob) => (None, None, glob.star_token.span),
        };
        let mut path = prefix.to_vec();
        path.extend(ident.filter(|ident| *ident != "self").map(Ident::to_string));
        let brings = match brought {
            None => Brings::EverythingIn,
            Some(name) if name == "self" => Brings::Name(path.last().cloned().unwrap_or_default()),
            Some(name) => Brings::Name(name.to_string()),
        };
        self.mentions.push(Mention { path, line: span.start().line, brings, reexport });
    }

    /// Notes the paths of two or more names in the arguments of a macro or an attribute. The parser
    /// does not know what a single name is there.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<Ident> = Vec::new();
        let mut colons = 0;
        let mut ended = |path: &mut Vec<Ident>| {
            if let [first, _, ..] = &path[..] {
                let line = first.span().start().line;
                self.mention(path.iter().map(Ident::to_string).collect(), line);
            }
            path.clear();
        };
        let mut inner = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        ended(&mut path);
                    }
                    path.push(ident);
                    colons = 0;
                }
                other => {
                    ended(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        inner.push(group.stream());
                    }
                }
            }
        }
        ended(&mut path);
        for tokens in inner {
            self.scan(tokens);
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(only_in_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !item.attrs.iter().any(only_in_tests) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    /// A child is a module of its own.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    /// Whom an item is visible to is no import.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_path(&mut self, path: &'ast Path) {
        if let (None, Some(first)) = (&path.leading_colon, path.segments.first()) {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.mention(names.collect(), first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast Macro) {
        visit::visit_macro(self, invoked);
        self.scan(invoked.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'ast MetaList) {
        visit::visit_meta_list(self, list);
        self.scan(list.tokens.clone());
    }
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
        Item::Macro(declared) => declared.ident.as_ref(),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(ItemConst { attrs, .. })
        | Item::Enum(ItemEnum { attrs, .. })
        | Item::Fn(ItemFn { attrs, .. })
        | Item::Impl(ItemImpl { attrs, .. })
        | Item::Macro(ItemMacro { attrs, .. })
        | Item::Static(ItemStatic { attrs, .. })
        | Item::Struct(ItemStruct { attrs, .. })
        | Item::Trait(ItemTrait { attrs, .. })
        | Item::Type(ItemType { attrs, .. })
        | Item::Union(ItemUnion { attrs, .. })
        | Item::Use(ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}

/// The file in `#[path = "file"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(MetaNameValue {
            path,
            value: Expr::Lit(ExprLit { lit: Lit::Str(file), .. }),
            ..
        }) if path.is_ident("path") => Some(file.value()),
        _ => None,
    }
}

/// Whether this is a `cfg` that holds in no build but one for tests.
fn only_in_tests(attribute: &Attribute) -> bool {
    fn needs_test(predicate: &Meta) -> bool {
        let inner = |list: &MetaList| {
            let parsed = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            parsed.unwrap_or_default()
        };
        match predicate {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => inner(list).iter().any(needs_test),
            Meta::List(list) if list.path.is_ident("any") => inner(list).iter().all(needs_test),
            _ => false,
        }
    }
    attribute.path().is_ident("cfg")
        && attribute.parse_args().is_ok_and(|predicate| needs_test(&predicate))
}
