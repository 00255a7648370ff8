//! Words and marks of well-formed and of arbitrary text.

use super::*;

fn words(text: &str) -> Vec<(&str, u32)> {
    Tokens::of(text).map(|token| (token.text, token.line)).collect()
}

#[test]
fn comments_are_skipped_and_lines_counted() {
    let text = "// one\n.version 8.0 /* two\nthree */ .target\tsm_90a, debug\n// end";
    let expected =
        [(".version", 2), ("8.0", 2), (".target", 3), ("sm_90a", 3), (",", 3), ("debug", 3)];
    assert_eq!(words(text), expected);
}

#[test]
fn strings_are_one_token_and_end_with_their_line() {
    assert_eq!(words("a \"x // y\" b"), [("a", 1), ("\"x // y\"", 1), ("b", 1)]);
    assert_eq!(words("\"open\nb"), [("\"open\n", 1), ("b", 2)]);
    assert_eq!(words("\"open"), [("\"open", 1)]);
}

#[test]
fn what_does_not_end_takes_the_rest() {
    assert_eq!(words("a /* b"), [("a", 1)]);
    assert_eq!(words("a / b"), [("a", 1), ("/", 1), ("b", 1)]);
}

#[test]
fn kernels_and_functions_are_told_apart() {
    let text = ".func (.param .b32 r) helper (.param .b32 a);\n.visible .entry main(\n)";
    let found: Vec<_> = definitions(text).collect();
    let helper = Definition { name: "helper", line: 1, kernel: false };
    let main = Definition { name: "main", line: 2, kernel: true };
    assert_eq!(found, [helper, main]);
}

proptest::proptest! {
    #[test]
    fn tokens_are_in_the_text_in_order(text in "(?s).{0,200}") {
        let mut rest = text.as_str();
        let mut line = 1;
        for token in Tokens::of(&text) {
            let start = rest.find(token.text).unwrap();
            line += rest[..start].matches('\n').count();
            proptest::prop_assert!(u32::try_from(line).unwrap() <= token.line);
            rest = &rest[start..];
            proptest::prop_assert!(!token.text.is_empty());
        }
        let _ = definitions(&text).count();
    }

    #[test]
    fn ptx_like_text_never_panics(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                ".version", "9.0", ".target", "sm_90a", ".entry", ".func", "(", ")", "\"",
                "//", "/*", "*/", "\n", " ", "name", ",", "é", "\0",
            ]),
            0..60,
        ),
    ) {
        let text = parts.concat();
        let _ = definitions(&text).count();
        let _ = line_of(&text, "name");
    }
}
