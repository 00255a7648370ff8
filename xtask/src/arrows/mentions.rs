//! Which paths does a module import or use?

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Ident, ImplItemFn, Item, ItemMod, ItemUse, Macro, MetaList, Path, UseName, UseRename, UseTree,
    VisRestricted, Visibility,
};

use super::attributes::{attributes, only_in_tests};

/// A path that a module imports or uses.
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
    pub(super) brings: Brings,
    /// Whether other modules see what this brings into scope.
    pub(super) is_re_export: bool,
}

/// What a path brings into the module's scope.
#[derive(PartialEq)]
pub(super) enum Brings {
    Nothing,
    Name(String),
    EverythingIn,
}

/// The paths in a module's items. Child modules and code that only tests compile are left out.
pub(super) fn mentions(items: &[Item]) -> Vec<Mention> {
    let mut collector = Collector(Vec::new());
    for item in items {
        collector.visit_item(item);
    }
    collector.0
}

struct Collector(Vec<Mention>);

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_in_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !only_in_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    /// `pub(in path)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            self.mention(path.segments.iter().map(|segment| &segment.ident));
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

impl Collector {
    fn mention<'i>(&mut self, path: impl Iterator<Item = &'i Ident>) {
        let mut path = path.peekable();
        let line = path.peek().map_or(0, |first| line(first.span()));
        let path = path.map(Ident::to_string).collect();
        self.0.push(Mention { path, line, brings: Brings::Nothing, is_re_export: false });
    }

    /// Collects each path of a `use` whose part before `tree` is `prefix`.
    fn import(&mut self, tree: &UseTree, prefix: &[String], is_re_export: bool) {
        let mut path = prefix.to_vec();
        let (span, brings) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.import(&part.tree, &path, is_re_export);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, prefix, is_re_export));
            }
            // `{self}` brings the last name of the prefix.
            UseTree::Name(UseName { ident }) => {
                path.extend((ident != "self").then(|| ident.to_string()));
                (ident.span(), Brings::Name(path.last().cloned().unwrap_or_default()))
            }
            UseTree::Rename(UseRename { ident, rename, .. }) => {
                path.extend((ident != "self").then(|| ident.to_string()));
                (ident.span(), Brings::Name(rename.to_string()))
            }
            UseTree::Glob(glob) => (glob.star_token.span, Brings::EverythingIn),
        };
        self.0.push(Mention { path, line: line(span), brings, is_re_export });
    }

    /// Collects the paths of two or more names from the tokens of a macro or an attribute. What a
    /// single name means there only the macro knows.
    fn scan(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut groups) = (Vec::<Ident>::new(), 0, Vec::new());
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) if colons == 2 => {
                    path.push(name);
                    colons = 0;
                }
                other => {
                    self.mention_if_long(&path);
                    path.clear();
                    colons = 0;
                    match other {
                        TokenTree::Ident(name) => path.push(name),
                        TokenTree::Group(group) => groups.push(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.mention_if_long(&path);
        for tokens in groups {
            self.scan(tokens);
        }
    }

    fn mention_if_long(&mut self, path: &[Ident]) {
        if path.len() > 1 {
            self.mention(path.iter());
        }
    }
}

fn line(span: Span) -> usize {
    span.start().line
}
