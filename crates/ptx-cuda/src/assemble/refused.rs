//! An assembler's refusal, in words that name the place and the cure.

use std::fmt;

use ptx_key::{ComputeCapability, PtxIsa};

use super::header::PtxHeader;
use super::log::JitLog;
use crate::DriverCode;

/// Why an assembler refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The text is in a PTX ISA later than the assembler knows.
    UnsupportedIsa,
    /// The text or image is for another architecture than the device's.
    WrongTarget,
    /// Nothing defines a symbol that the text uses.
    UnresolvedSymbol {
        /// The symbol.
        name: String,
    },
    /// The text ends too early: it may be cut off.
    EndsEarly,
    /// The assembler does not understand the text.
    InvalidPtx,
    /// The image is damaged, or of a kind that the driver does not know.
    InvalidImage,
    /// Memory ran out, on the device or in the assembler.
    OutOfMemory,
    /// The driver has no PTX compiler, or may not use it.
    NoCompiler,
    /// Another reason: see the code and the log.
    Other,
}

/// An assembler's refusal of one text or image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The assembler, with its version.
    pub assembler: String,
    /// The driver's code. `None` from an offline assembler.
    pub code: Option<DriverCode>,
    /// Why it refused.
    pub reason: Reason,
    /// The kernel or function that contains the line, or the only kernel of the text.
    pub kernel: Option<String>,
    /// The line of the PTX text, counted from 1.
    pub line: Option<u32>,
    /// The text of that line, cut at 60 characters.
    pub excerpt: Option<String>,
    /// The first error of the log, on one line.
    pub message: Option<String>,
    /// The header of the PTX text; `None` for an image.
    pub header: Option<PtxHeader>,
    /// The architecture that the text or image is for.
    pub target: String,
    /// The device.
    pub device: ComputeCapability,
    /// The latest PTX ISA that the assembler supports, where the driver or the log says.
    pub supported_isa: Option<PtxIsa>,
    /// The whole log.
    pub log: JitLog,
}

impl Refused {
    /// Returns true if the image is wrong: damaged, or for another device or driver.
    pub(crate) fn blames_image(&self) -> bool {
        self.header.is_none() && matches!(self.reason, Reason::InvalidImage | Reason::WrongTarget)
    }

    /// Returns true if the image may be wrong: the code leaves it open.
    pub(crate) fn may_blame_image(&self) -> bool {
        self.header.is_none() && self.code.is_some_and(DriverCode::is_vague)
    }

    /// Returns true if the same assembler always refuses the same text for this device. A cache
    /// remembers such a refusal.
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

    /// Returns true if the text or image may be damaged, so that another copy may load.
    pub fn may_be_damaged(&self) -> bool {
        matches!(self.reason, Reason::EndsEarly | Reason::InvalidImage)
    }

    /// What the user can do.
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
            (Reason::EndsEarly, _) => {
                "the text ends too early: lower again, and remove the stored \
                                       entry if it came from one"
                    .to_owned()
            }
            (Reason::InvalidPtx, _) => match self.line {
                Some(_) => "fix the lowering at this line".to_owned(),
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

fn explain_variant(header: &PtxHeader) -> String {
    match header.target.variant {
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
