//! Untrusted text in messages.

/// The first line of a text in backquotes, cut at 60 characters.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.trim().lines().next().unwrap_or("");
    let (short, rest) =
        line.split_at(line.char_indices().nth(MOST).map_or(line.len(), |(at, _)| at));
    format!("`{}{}`", printable(short), if rest.is_empty() { "" } else { "…" })
}

/// A text without control characters: it may come from anywhere, and messages end on terminals.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// A name in backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", printable(name))
}
