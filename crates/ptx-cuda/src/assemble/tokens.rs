//! PTX text as words and marks, each with its line: enough to find directives and names in
//! untrusted text.

/// A word or a mark of PTX text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    /// Counted from 1.
    pub(crate) line: u32,
}

/// The tokens of a text. Comments and white space are skipped; a string is one token.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Tokens<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Takes the first `bytes` bytes, which end at a character's end.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        let lines = taken.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        taken
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            let comment = &self.rest[blank..];
            let bytes = if comment.starts_with("//") {
                comment.find('\n').unwrap_or(comment.len())
            } else if comment.starts_with("/*") {
                // A comment that does not end takes the rest of the text.
                comment.find("*/").map_or(comment.len(), |end| end + 2)
            } else {
                0
            };
            self.take(blank + bytes);
            if bytes == 0 {
                return;
            }
        }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        let bytes = if is_word(first) {
            self.rest.find(|character| !is_word(character)).unwrap_or(self.rest.len())
        } else if first == '"' {
            self.rest[1..].find(['"', '\n']).map_or(self.rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        let line = self.line;
        Some(Token { text: self.take(bytes), line })
    }
}

/// Returns true for the characters of directives, instructions, names and numbers.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._$%".contains(character)
}

/// A function of a PTX text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Definition<'t> {
    pub(crate) name: &'t str,
    /// The line of its name.
    pub(crate) line: u32,
    /// True for a kernel, false for a function that kernels call.
    pub(crate) kernel: bool,
}

/// The kernels and functions of a text, declarations without a body included.
pub(crate) fn definitions(text: &str) -> impl Iterator<Item = Definition<'_>> {
    let mut tokens = Tokens::of(text);
    std::iter::from_fn(move || {
        let kernel = loop {
            match tokens.next()?.text {
                ".entry" => break true,
                ".func" => break false,
                _ => {}
            }
        };
        let mut name = tokens.next()?;
        if name.text == "(" {
            // The function's results come before its name.
            tokens.find(|token| token.text == ")")?;
            name = tokens.next()?;
        }
        Some(Definition { name: name.text, line: name.line, kernel })
    })
}

/// The line where a name first occurs.
pub(crate) fn line_of(text: &str, name: &str) -> Option<u32> {
    Tokens::of(text).find(|token| token.text == name).map(|token| token.line)
}

#[cfg(test)]
mod tests {
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
}
