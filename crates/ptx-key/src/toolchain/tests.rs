use crate::{CompilerOption, Digest, Toolchain};

#[test]
fn a_second_content_of_the_same_name_replaces_the_first() {
    let tool = || Toolchain::new("nvcc", "13", Digest::of_bytes(b"tool"));
    let (old, new) = (Digest::of_bytes(b"old"), Digest::of_bytes(b"new"));
    assert_eq!(tool().content("a.h", old).content("a.h", new), tool().content("a.h", new));
}

#[test]
fn options_in_any_order_are_sorted_and_repetitions_count() {
    let tool = || Toolchain::new("nvcc", "13", Digest::of_bytes(b"tool"));
    let define = |value| CompilerOption::with_value("-D", value).unwrap();
    let one_way = tool().option_in_any_order(define("A")).option_in_any_order(define("B"));
    let other_way = tool().option_in_any_order(define("B")).option_in_any_order(define("A"));
    assert_eq!(one_way, other_way);
    assert_ne!(one_way.clone(), one_way.option_in_any_order(define("A")));
}
