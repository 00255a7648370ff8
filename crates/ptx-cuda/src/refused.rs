//! Why an assembler made no module, in words that name the place and the cure.

use std::fmt;

use ptx_key::{ComputeCapability, PtxIsa};

use crate::ptx::{excerpt, printable};
use crate::tokens::{definitions, line_of};
use crate::{Cubin, DriverCode, JitLog, Ptx, PtxHeader};

/// What kind of thing went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The text is in a PTX ISA later than the assembler knows.
    UnsupportedIsa,
    /// The text or image is for an architecture that the device is not.
    WrongTarget,
    /// Nothing defines a symbol that the text uses.
    UnresolvedSymbol {
        /// The symbol.
        name: String,
    },
    /// The text ends where more must follow: it was cut off.
    EndsEarly,
    /// The text is not PTX that the assembler understands.
    InvalidPtx,
    /// The image is damaged, or of a kind that the driver does not know.
    InvalidImage,
    /// Memory ran out, on the device or in the assembler.
    OutOfMemory,
    /// The driver has no PTX compiler, or may not use it.
    NoCompiler,
    /// Something else: see the code and the log.
    Other,
}

/// An assembler's refusal of one text or image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Who refused, with its version.
    pub assembler: String,
    /// The driver's code. `None` from an offline assembler.
    pub code: Option<DriverCode>,
    /// What kind of thing went wrong.
    pub reason: Reason,
    /// The kernel or function that the line stands in, or the only kernel of the text.
    pub kernel: Option<String>,
    /// The line of the PTX text, counted from 1.
    pub line: Option<u32>,
    /// What stands in that line, cut at 60 characters.
    pub excerpt: Option<String>,
    /// The first error of the log, on one line.
    pub message: Option<String>,
    /// The header of the PTX text; `None` for an image.
    pub header: Option<PtxHeader>,
    /// The architecture that the text or image is for.
    pub target: String,
    /// The device it was for.
    pub device: ComputeCapability,
    /// The latest PTX ISA that the assembler knows, where it is known.
    pub supported_isa: Option<PtxIsa>,
    /// The whole log.
    pub log: JitLog,
}

/// Who was asked, and for which device.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) assembler: String,
    pub(crate) device: ComputeCapability,
    pub(crate) latest_isa: Option<PtxIsa>,
}

impl Refused {
    /// Explains the refusal of a text.
    pub(crate) fn ptx(asked: Asked, code: Option<DriverCode>, log: JitLog, ptx: &Ptx) -> Self {
        let header = *ptx.header();
        let error = log.first_error();
        let supported_isa = log.supported_isa().or(asked.latest_isa);
        let reason = reason_for_ptx(&asked, code, &log, ptx);
        let line = error.as_ref().and_then(|entry| entry.line).or_else(|| match &reason {
            Reason::UnsupportedIsa => Some(header.isa_line),
            Reason::WrongTarget => Some(header.target_line),
            Reason::UnresolvedSymbol { name } => line_of(ptx.text(), name),
            _ => None,
        });
        Self {
            assembler: asked.assembler,
            code,
            kernel: kernel_at(ptx, line, &reason),
            reason,
            line,
            excerpt: line.and_then(|line| {
                let text = ptx.text().lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
                Some(excerpt(text))
            }),
            message: error.map(|entry| printable(&entry.message)),
            header: Some(header),
            target: header.target.to_string(),
            device: asked.device,
            supported_isa,
            log,
        }
    }

    /// Explains the refusal of an image.
    pub(crate) fn cubin(asked: Asked, code: DriverCode, log: JitLog, cubin: &Cubin) -> Self {
        let reason = match code {
            DriverCode::NO_BINARY_FOR_GPU => Reason::WrongTarget,
            DriverCode::OUT_OF_MEMORY => Reason::OutOfMemory,
            DriverCode::INVALID_IMAGE
            | DriverCode::INVALID_SOURCE
            | DriverCode::INVALID_PTX
            | DriverCode::UNSUPPORTED_PTX_VERSION => Reason::InvalidImage,
            _ => Reason::Other,
        };
        Self {
            assembler: asked.assembler,
            code: Some(code),
            reason,
            kernel: None,
            line: None,
            excerpt: None,
            message: log.first_error().map(|entry| printable(&entry.message)),
            header: None,
            target: cubin.architecture(),
            device: asked.device,
            supported_isa: None,
            log,
        }
    }

    /// Whether it is the image that is wrong: damaged, or for other devices or drivers.
    pub(crate) fn blames_image(&self) -> bool {
        self.header.is_none() && matches!(self.reason, Reason::InvalidImage | Reason::WrongTarget)
    }

    /// Whether it may be the image that is wrong, by a code that does not tell.
    pub(crate) fn may_blame_image(&self) -> bool {
        self.header.is_none() && self.code.is_some_and(DriverCode::is_vague)
    }

    /// Whether the same assembler will always refuse the same text for this device, so that it
    /// need not be asked again.
    pub fn is_permanent(&self) -> bool {
        match self.reason {
            Reason::UnsupportedIsa
            | Reason::WrongTarget
            | Reason::UnresolvedSymbol { .. }
            | Reason::EndsEarly
            | Reason::InvalidPtx
            | Reason::InvalidImage => true,
            Reason::OutOfMemory | Reason::NoCompiler | Reason::Other => false,
        }
    }

    /// Whether what was refused may have been damaged on its way, so that another copy of it, or a
    /// new lowering, may be taken.
    pub fn may_be_damaged(&self) -> bool {
        matches!(self.reason, Reason::EndsEarly | Reason::InvalidImage)
    }

    /// What can be done about it.
    pub fn cure(&self) -> String {
        match (&self.reason, self.header) {
            (Reason::UnsupportedIsa, Some(header)) => {
                let known = self
                    .supported_isa
                    .filter(|known| *known < header.isa)
                    .map_or_else(|| "an earlier version".to_owned(), |known| known.to_string());
                let otherwise = match self.code {
                    Some(_) => {
                        ", update the driver, or assemble offline with a newer ptxas and load the \
                         cubin"
                    }
                    None => ", or assemble with a newer ptxas",
                };
                format!(
                    "the text says .version {}: lower for PTX ISA {known}{otherwise}",
                    header.isa
                )
            }
            (Reason::WrongTarget, Some(header)) => {
                format!(
                    "lower for the device's architecture (sm_{}{}), or a base target below it",
                    self.device.major, self.device.minor
                ) + &explain_variant(&header)
            }
            (Reason::UnsupportedIsa | Reason::WrongTarget, None) => format!(
                "the image is for {}: assemble the PTX for this device (sm_{}{})",
                self.target, self.device.major, self.device.minor
            ),
            (Reason::UnresolvedSymbol { name }, _) => format!(
                "nothing defines `{name}`: define it in the same text, or link the library that \
                 does before loading"
            ),
            (Reason::EndsEarly, _) => "the text ends too early: lower again, and drop the stored \
                                       entry if it came from one"
                .to_owned(),
            (Reason::InvalidPtx, _) => match self.line {
                Some(_) => "mend the lowering at this line".to_owned(),
                None => DriverCode::INVALID_PTX.cure().to_owned(),
            },
            (Reason::InvalidImage, _) => DriverCode::INVALID_IMAGE.cure().to_owned(),
            (Reason::OutOfMemory, _) => DriverCode::OUT_OF_MEMORY.cure().to_owned(),
            (Reason::NoCompiler | Reason::Other, _) => {
                self.code.map_or("see the assembler's log", DriverCode::cure).to_owned()
            }
        }
    }
}

fn reason_for_ptx(asked: &Asked, code: Option<DriverCode>, log: &JitLog, ptx: &Ptx) -> Reason {
    let error = log.first_error();
    let message = error.as_ref().map_or("", |entry| entry.message.as_str());
    let line = error.as_ref().and_then(|entry| entry.line);
    let lines = u32::try_from(ptx.text().lines().count()).unwrap_or(u32::MAX);
    let unresolved = log.unresolved_symbol().map(|name| Reason::UnresolvedSymbol { name });
    match (code, unresolved) {
        (Some(DriverCode::OUT_OF_MEMORY), _) => Reason::OutOfMemory,
        (Some(DriverCode::JIT_COMPILER_NOT_FOUND | DriverCode::JIT_COMPILATION_DISABLED), _) => {
            Reason::NoCompiler
        }
        (Some(DriverCode::UNSUPPORTED_PTX_VERSION), _) => Reason::UnsupportedIsa,
        _ if message.starts_with("Unsupported .version") => Reason::UnsupportedIsa,
        (_, Some(unresolved)) => unresolved,
        (Some(DriverCode::NO_BINARY_FOR_GPU), _) => Reason::WrongTarget,
        _ if message.contains(".target") || !ptx.header().runs_on(asked.device) => {
            Reason::WrongTarget
        }
        _ if message.starts_with("Parsing error")
            && (message.contains("near ''") || line >= Some(lines)) =>
        {
            Reason::EndsEarly
        }
        // With a line in the log it is the text that is wrong, whatever the code.
        _ if line.is_some() => Reason::InvalidPtx,
        (
            Some(DriverCode::INVALID_PTX | DriverCode::INVALID_IMAGE | DriverCode::INVALID_SOURCE),
            _,
        ) => Reason::InvalidPtx,
        _ => Reason::Other,
    }
}

/// The definition that a line stands in; without one, the only kernel. A symbol that nothing
/// defines is none.
fn kernel_at(ptx: &Ptx, line: Option<u32>, reason: &Reason) -> Option<String> {
    let missing = match reason {
        Reason::UnresolvedSymbol { name } => name,
        _ => "",
    };
    let around = line.and_then(|line| {
        definitions(ptx.text()).take_while(|definition| definition.line <= line).last()
    });
    let around = around.filter(|definition| definition.name != missing);
    let name = around.map(|definition| definition.name).or_else(|| {
        let mut kernels = ptx.kernels();
        kernels.next().filter(|_| kernels.next().is_none())
    })?;
    Some(printable(name))
}

fn explain_variant(header: &PtxHeader) -> String {
    match header.target.variant() {
        ptx_key::Variant::Base => String::new(),
        ptx_key::Variant::ArchSpecific => {
            format!("; {} runs on that one architecture alone", header.target)
        }
        ptx_key::Variant::FamilySpecific => {
            format!("; {} runs within its family alone", header.target)
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.header.is_some() { "PTX" } else { "cubin" };
        write!(f, "{} refused the {what}", self.assembler)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " of `{kernel}`")?;
        }
        if let Some(line) = self.line {
            write!(f, " at line {line}")?;
        }
        if let Some(excerpt) = &self.excerpt {
            write!(f, ", {excerpt}")?;
        }
        if let Some(message) = &self.message {
            write!(f, ": {message}")?;
        }
        if let Some(code) = self.code {
            write!(f, " ({code})")?;
        }
        write!(f, "; it is for {}", self.target)?;
        if let Some(header) = self.header {
            write!(f, " in PTX ISA {}", header.isa)?;
        }
        write!(f, ", the device is {}", self.device)?;
        if let Some(isa) = self.supported_isa {
            write!(f, ", the assembler knows PTX ISA up to {isa}")?;
        }
        write!(f, "; {}", self.cure())
    }
}

#[cfg(test)]
mod tests;
