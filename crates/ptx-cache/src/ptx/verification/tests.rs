use super::*;

#[test]
fn the_first_line_that_differs_is_named() {
    let difference = first_difference;
    assert_eq!(difference("a\nb", "a\nb"), None);
    assert_eq!(difference("a\nb\nc", "a\nx\nc"), Some((2, "b", "x")));
    assert_eq!(difference("a\nb", "a"), Some((2, "b", "")));
    assert_eq!(difference("a", "a\n"), Some((2, "", "")));
    assert_eq!(difference("a\r\nb", "a\nb"), Some((1, "a\r", "a")));
    assert_eq!(difference("", "a"), Some((1, "", "a")));
}
