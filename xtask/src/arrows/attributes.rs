//! What do an item's attributes say about it?

use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, ExprLit, Item, ItemConst, ItemEnum, ItemFn, ItemImpl, ItemMacro, ItemMod,
    ItemStatic, ItemStruct, ItemTrait, ItemType, ItemUnion, ItemUse, Lit, Meta, MetaList,
    MetaNameValue, Token,
};

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(ItemConst { attrs, .. })
        | Item::Enum(ItemEnum { attrs, .. })
        | Item::Fn(ItemFn { attrs, .. })
        | Item::Impl(ItemImpl { attrs, .. })
        | Item::Macro(ItemMacro { attrs, .. })
        | Item::Mod(ItemMod { attrs, .. })
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
pub(super) fn path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(MetaNameValue {
            path,
            value: Expr::Lit(ExprLit { lit: Lit::Str(file), .. }),
            ..
        }) if path.is_ident("path") => Some(file.value()),
        _ => None,
    })
}

/// Whether a `cfg` leaves the item out of every build that is not for tests.
pub(super) fn only_in_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args().is_ok_and(|predicate| needs_test(&predicate))
    })
}

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
