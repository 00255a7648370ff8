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
mod tests;
