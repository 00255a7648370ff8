//! PTX text that was checked far enough to be given to the driver.

use std::sync::Arc;

use ptx_cache::{Attributes, PtxArtifact};

use super::header::PtxHeader;
use super::log::JitLog;
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
    /// What the text's artifact has beside it. Its cubin takes it over.
    attributes: Attributes,
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
        Ok(Self { text, header, attributes: Attributes::default() })
    }

    /// Checks the text of an artifact. A cubin that is assembled from it keeps its attributes.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn of(artifact: &PtxArtifact) -> Result<Self, CudaError> {
        let attributes = artifact.attributes.clone();
        Ok(Self { attributes, ..Self::new(Arc::clone(&artifact.payload))? })
    }

    /// What a cubin of this text keeps beside its image: the text's attributes, and the assembly's
    /// log where there is one.
    pub(crate) fn cubin_attributes(&self, log: &JitLog) -> Attributes {
        let mut attributes = self.attributes.clone();
        if !log.text().is_empty() {
            attributes.set(Attributes::LOG, log.text());
        }
        attributes
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
mod tests;
