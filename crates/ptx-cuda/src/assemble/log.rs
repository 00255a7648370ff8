//! The log of an assembler: of the driver's PTX compiler, of its linker, or of `ptxas`.

use std::fmt;

/// How much an entry of a log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Reports what the assembler did.
    Info,
    /// Reports what may be a mistake.
    Warning,
    /// Reports why there is no module.
    Error,
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// How much the entry matters.
    pub(crate) severity: Severity,
    /// The line of the PTX text, counted from 1, where the assembler names one.
    pub(crate) line: Option<u32>,
    /// The assembler's message.
    pub(crate) message: String,
}

/// An assembler's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitLog {
    text: String,
}

impl JitLog {
    /// A log, without blank lines around it.
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { text: text.trim_matches('\n').trim_end().to_owned() }
    }

    /// The log as the assembler wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the log has no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// This log with a later one after it.
    pub(crate) fn followed_by(&self, later: &Self) -> Self {
        if later.is_empty() {
            return self.clone();
        }
        Self::new(format!("{}\n{}", self.text, later.text))
    }

    /// The entries of the log, in its order. Other lines are skipped.
    fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.text.lines().filter_map(diagnostic)
    }

    /// The first error in the log.
    pub(crate) fn first_error(&self) -> Option<Diagnostic> {
        self.diagnostics().find(|entry| entry.severity == Severity::Error)
    }

    /// The latest PTX ISA that the assembler supports, where it refuses a later one.
    pub(crate) fn supported_isa(&self) -> Option<ptx_key::PtxIsa> {
        let (_, behind) = self.text.split_once("current version is '")?;
        behind.split_once('\'')?.0.parse().ok()
    }

    /// The symbol that nothing defines, where the log names one.
    pub(crate) fn unresolved_symbol(&self) -> Option<String> {
        let errors = self.diagnostics().filter(|entry| entry.severity == Severity::Error);
        errors.map(|entry| entry.message).find_map(|message| {
            let known = ["Unresolved extern", "Undefined reference", "undefined reference"];
            known.iter().any(|words| message.contains(words)).then_some(())?;
            Some(message.split('\'').nth(1)?.to_owned())
        })
    }
}

impl fmt::Display for JitLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `place, line N; severity : message` or `tool severity : message`.
fn diagnostic(line: &str) -> Option<Diagnostic> {
    let (severity, head, message) = line.match_indices(':').find_map(|(colon, _)| {
        let head = line[..colon].trim_end();
        let word = head.rsplit(|character: char| !character.is_ascii_alphabetic()).next()?;
        Some((severity(word)?, head, &line[colon + 1..]))
    })?;
    let place = head.rsplit_once(';').map(|(place, _)| place);
    let number = place.and_then(|place| place.rsplit_once(", line ")).map(|(_, number)| number);
    Some(Diagnostic {
        severity,
        line: number.and_then(|number| number.trim().parse().ok()),
        message: message.trim().to_owned(),
    })
}

fn severity(word: &str) -> Option<Severity> {
    match word {
        "fatal" | "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "info" | "advisory" => Some(Severity::Info),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
