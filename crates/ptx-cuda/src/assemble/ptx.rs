//! PTX text that was checked far enough to be given to the driver.

use std::sync::Arc;

use super::header::PtxHeader;
use super::quote::excerpt;
use super::tokens::{Token, Tokens, definitions};
use crate::CudaError;

/// PTX text with a header and without NUL bytes. The driver reads it up to the first NUL.
///
/// ```
/// use ptx_cuda::Ptx;
/// let ptx = Ptx::new("// lowered\n.version 9.0\n.target sm_90a\n")?;
/// let header = ptx.header();
/// assert_eq!((header.isa.major, header.isa_line), (9, 2));
/// assert_eq!(header.target.to_string(), "sm_90a");
/// assert!(Ptx::new("\u{7f}ELF").is_err());
/// # Ok::<(), ptx_cuda::CudaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    text: Arc<str>,
    header: PtxHeader,
}

impl Ptx {
    /// Checks a text.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotPtx`] where the text does not begin, comments aside, with `.version` and
    /// `.target`, or has a NUL byte.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, CudaError> {
        let text = text.into();
        let header = read_header(&text)?;
        if text.contains('\0') {
            return Err(nul_byte(&text));
        }
        Ok(Self { text, header })
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The text with a NUL byte after it, as the driver reads it.
    #[cfg(feature = "cuda")]
    pub(crate) fn terminated(&self) -> Result<std::ffi::CString, CudaError> {
        std::ffi::CString::new(self.text.as_bytes()).map_err(|_| nul_byte(&self.text))
    }

    /// What the header says.
    pub fn header(&self) -> &PtxHeader {
        &self.header
    }

    /// The names of the text's kernels, in its order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        definitions(&self.text).filter(|found| found.kernel).map(|found| found.name)
    }

    /// The error of a text that has no kernel.
    pub(crate) fn ends_before_a_kernel(&self) -> CudaError {
        CudaError::NotPtx {
            line: lines(&self.text),
            expected: "a kernel such as `.entry name()`".to_owned(),
            found: "the end".to_owned(),
        }
    }
}

/// Reads the header of any text.
fn read_header(text: &str) -> Result<PtxHeader, CudaError> {
    let mut tokens = Tokens::of(text);
    let end = lines(text);
    let (isa, isa_line) = directive(&mut tokens, ".version", "9.0", end)?;
    let (target, target_line) = directive(&mut tokens, ".target", "sm_90a", end)?;
    // Options of the target come between.
    let next = tokens.find(|token| token.text.starts_with('.'));
    let bits = next.filter(|token| token.text == ".address_size").and_then(|_| tokens.next());
    let address_size = bits.and_then(|bits| bits.text.parse().ok());
    Ok(PtxHeader { isa, isa_line, target, target_line, address_size })
}

/// The value of the directive that must come next, in a text of `end` lines.
fn directive<T: std::str::FromStr>(
    tokens: &mut Tokens<'_>,
    name: &'static str,
    example: &'static str,
    end: u32,
) -> Result<(T, u32), CudaError> {
    let missing = |found: Option<Token<'_>>| CudaError::NotPtx {
        line: found.map_or(end, |token| token.line),
        expected: format!("`{name}` with a value such as {example}"),
        found: found.map_or_else(|| "the end".to_owned(), |token| excerpt(token.text)),
    };
    let first = tokens.next();
    if first.is_none_or(|token| token.text != name) {
        return Err(missing(first));
    }
    let value = tokens.next();
    let parsed = value.and_then(|token| Some((token.text.parse().ok()?, token.line)));
    parsed.ok_or_else(|| missing(value))
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX)
}

fn nul_byte(text: &str) -> CudaError {
    let lines = text.split('\0').next().map_or(0, |before| before.matches('\n').count());
    CudaError::NotPtx {
        line: u32::try_from(lines + 1).unwrap_or(u32::MAX),
        expected: "text".to_owned(),
        found: "a NUL byte".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ptx_key::{ComputeCapability, PtxIsa};

    use super::*;

    fn header(text: &str) -> Result<PtxHeader, String> {
        read_header(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_header_is_read_after_comments() {
        let text = "/* a\nb */\n.version 8.7\n.target sm_100f, debug\n.address_size 64\n";
        let read = header(text).unwrap();
        assert_eq!(read.isa, PtxIsa::new(8, 7));
        assert_eq!((read.isa_line, read.target_line), (3, 4));
        assert_eq!(read.target.to_string(), "sm_100f");
        assert_eq!(read.address_size, Some(64));
        // It comes next or not at all: a long text is not searched for it.
        for behind in ["", ".entry a() {}\n.address_size 32"] {
            let text = format!(".version 8.7 .target sm_90\n{behind}");
            assert_eq!(header(&text).unwrap().address_size, None);
        }
    }

    #[test]
    fn an_error_names_what_is_missing_and_its_line() {
        for (text, expected) in [
            ("", "line 1: expected `.version` with a value such as 9.0, found the end"),
            ("hello", "line 1: expected `.version` with a value such as 9.0, found `hello`"),
            ("\n.version x", "line 2: expected `.version` with a value such as 9.0, found `x`"),
            (".version 9.0\n.func", "line 2: expected `.target`"),
            ("// a\n// b\n.version 9.0\n", "line 3: expected `.target`"),
            ("// a\n.version", "line 2: expected `.version` with a value"),
            (".version 9.0\n.target nvptx", "found `nvptx`"),
        ] {
            let error = header(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_nul_byte_is_refused_with_its_line() {
        let error = Ptx::new(".version 9.0\n.target sm_90\n\n\0").unwrap_err();
        assert!(error.to_string().contains("line 4"), "{error}");
    }

    #[test]
    fn targets_run_where_the_isa_says() {
        let runs = |target: &str, major, minor| {
            let text = format!(".version 9.0\n.target {target}\n");
            read_header(&text).unwrap().runs_on(ComputeCapability { major, minor })
        };
        for (target, major, minor, expected) in [
            ("sm_80", 8, 0, true),
            ("sm_80", 9, 0, true),
            ("sm_80", 7, 5, false),
            ("sm_90a", 9, 0, true),
            ("sm_90a", 10, 0, false),
            ("sm_100", 9, 0, false),
            ("sm_100f", 10, 3, true),
            ("sm_100f", 12, 0, false),
            ("sm_103f", 10, 0, false),
            ("sm_120", 12, 1, true),
        ] {
            assert_eq!(runs(target, major, minor), expected, "{target} on {major}.{minor}");
        }
    }

    #[test]
    fn functions_are_not_listed_as_kernels() {
        let text = ".version 9.0 .target sm_90 .func f(); .entry a() {} .visible .entry b() {}";
        let ptx = Ptx::new(text).unwrap();
        assert_eq!(ptx.kernels().collect::<Vec<_>>(), ["a", "b"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,120}", version in "\\PC{0,8}") {
            let _ = Ptx::new(text.clone());
            let _ = Ptx::new(format!(".version {version}\n.target sm_{version}{text}"));
            let _ = Ptx::new(format!(".version 9.0\n.target sm_90\n{text}"));
        }
    }
}
