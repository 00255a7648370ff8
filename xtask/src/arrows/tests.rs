use super::*;

/// Describes each cycle in a crate of these files, which lie in `src`.
fn cycles<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    let sources = files.map(|(file, source)| (format!("src/{file}"), source.to_owned()));
    cycles_of("src/lib.rs", &Sources::from(sources)).unwrap()
}

fn assert_one_cycle<const N: usize>(files: [(&str, &str); N], size: usize) {
    let found = cycles(files);
    let heading = format!("{size} files import each other:\n");
    assert!(matches!(&found[..], [only] if only.starts_with(&heading)), "{found:#?}");
}

#[test]
fn arrows_that_go_one_way_are_no_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("a.rs", "pub struct A(crate::B, std::fmt::Error);"),
        ("b.rs", "pub struct B;"),
    ];
    assert_eq!(cycles(files), [""; 0]);
}

#[test]
fn a_direct_cycle_is_described_with_each_arrow_and_its_line() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "\nuse crate::b::B;\npub struct A(B);"),
        ("b.rs", "pub struct B;\nfn f() { crate::a::A::new() }"),
    ];
    let described = "2 files import each other:\n  \
                     src/a.rs:2 imports src/b.rs (`crate::b::B`)\n  \
                     src/b.rs:2 imports src/a.rs (`crate::a::A::new`)";
    assert_eq!(cycles(files), [described]);
}

#[test]
fn a_cycle_of_three_is_one_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use super::b;"),
        ("b.rs", "use super::{c::C, c};"),
        ("c.rs", "pub struct C(super::a::A);"),
    ];
    assert_one_cycle(files, 3);
}

#[test]
fn each_of_two_cycles_is_reported() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::{b, c};"),
        ("b.rs", "use crate::a;"),
        ("c.rs", "use crate::d;"),
        ("d.rs", "use crate::c;"),
    ];
    assert_eq!(cycles(files).len(), 2);
}

#[test]
fn re_exports_lead_to_the_file_that_defines_the_item() {
    let re_exports = [
        "mod a; mod b; pub use a::A; pub use b::B;",
        "mod a; mod b; pub use {a::A, b::Hidden as B};",
        "mod a; mod b; pub use a::*; pub use b::*;",
        "mod a; mod b; mod names { pub use super::{a::A, b::B}; } pub use names::*;",
    ];
    for lib in re_exports {
        let a = ("a.rs", "use crate::{A as _, B}; pub struct A(B);");
        let b = ("b.rs", "pub struct B; pub struct Hidden; fn f(_: crate::A) {}");
        assert_one_cycle([("lib.rs", lib), a, b], 2);
    }
}

#[test]
fn a_re_export_of_another_crate_is_no_arrow() {
    let files = [
        ("lib.rs", "mod a; pub use other::Other; fn f() { a::f() }"),
        ("a.rs", "pub fn f() -> crate::Other {}"),
    ];
    assert_eq!(cycles(files), [""; 0]);
}

#[test]
fn a_parent_may_declare_and_re_export_what_uses_the_parent() {
    let child = ("a/b.rs", "use super::A; pub struct B(A);");
    for parent in ["mod b; pub use b::B; pub struct A;", "pub(crate) mod b; pub struct A;"] {
        assert_eq!(cycles([("lib.rs", "mod a;"), ("a.rs", parent), child]), [""; 0], "{parent}");
    }
    for parent in [
        "mod b; use b::B; pub struct A;",
        "mod b; pub use b::B; pub struct A(Option<B>);",
        "mod b; pub struct A; fn f() { b::f() }",
        "mod b; pub struct A; fn f() { print!(\"{}\", b::NAME) }",
        "mod b; #[repr(align(b::ALIGN))] pub struct A;",
    ] {
        assert_one_cycle([("lib.rs", "mod a;"), ("a.rs", parent), child], 2);
    }
}

#[test]
fn a_variable_of_a_modules_name_is_no_arrow() {
    let files = [("lib.rs", "mod a; fn f(a: u8) -> u8 { a }"), ("a.rs", "use crate::f;")];
    assert_eq!(cycles(files), [""; 0]);
}

#[test]
fn imported_modules_lead_on() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod c; pub use c::C;"),
        ("a/c.rs", "pub struct C; fn f() { crate::b::f() }"),
        ("b.rs", "use crate::a as renamed; pub fn f() -> renamed::C {}"),
    ];
    assert_one_cycle(files, 2);
}

#[test]
fn code_that_only_tests_compile_is_left_out() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "#[cfg(test)] mod tests;
             #[cfg(test)] use crate::b;
             #[cfg(all(test, not(loom)))] mod more { use crate::b; }
             struct A; impl A { #[cfg(test)] fn f() { crate::b::f() } }",
        ),
        ("b.rs", "use crate::a::A;"),
    ];
    assert_eq!(cycles(files), [""; 0]);
    let built = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "#[cfg(any(test, feature = \"f\"))] use crate::b; #[cfg(not(test))] struct A;"),
        ("b.rs", "use crate::a::A;"),
    ];
    assert_one_cycle(built, 2);
}

#[test]
fn path_attributes_and_modules_of_one_name_are_followed() {
    let files = [
        (
            "lib.rs",
            "#[cfg(unix)] #[path = \"system/unix.rs\"] mod system;
             #[cfg(not(unix))] #[path = \"system/other.rs\"] mod system;
             mod a;",
        ),
        ("system/unix.rs", "pub fn f() {}"),
        ("system/other.rs", "use crate::a; pub fn f() {}"),
        ("a.rs", "use crate::system::f;"),
    ];
    assert_one_cycle(files, 2);
}

#[test]
fn a_restricted_visibility_is_no_arrow() {
    let files = [
        ("lib.rs", "mod a; fn f() { a::f() }"),
        ("a.rs", "pub(crate) fn f() {} pub(in crate::a) fn g() {}"),
    ];
    assert_eq!(cycles(files), [""; 0]);
}

#[test]
fn re_exports_of_each_other_end() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "pub use crate::b::*; pub use crate::b::A; use a::a;"),
        ("b.rs", "pub use crate::a::*; pub use crate::a::A;"),
    ];
    assert_one_cycle(files, 2);
}

#[test]
fn a_module_without_a_file_is_an_error() {
    let sources = Sources::from([("src/lib.rs".to_owned(), "mod a;".to_owned())]);
    let error = cycles_of("src/lib.rs", &sources).unwrap_err();
    assert_eq!(error.to_string(), "src/lib.rs: no file for module `a`");
}
