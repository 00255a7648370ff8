//! Finds out from code, log and text why an assembler refused.

use ptx_key::{ComputeCapability, PtxIsa};

use super::cubin::Cubin;
use super::log::JitLog;
use super::ptx::Ptx;
use super::quote::{excerpt, printable};
use super::refused::{Reason, Refused};
use super::tokens::{definitions, line_of};
use crate::DriverCode;

/// The assembler that was asked, and the device.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) assembler: String,
    pub(crate) device: ComputeCapability,
    pub(crate) latest_isa: Option<PtxIsa>,
}

/// Explains the refusal of a text.
pub(crate) fn refused_ptx(
    asked: Asked,
    code: Option<DriverCode>,
    log: JitLog,
    ptx: &Ptx,
) -> Refused {
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
    Refused {
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
pub(crate) fn refused_cubin(asked: Asked, code: DriverCode, log: JitLog, cubin: &Cubin) -> Refused {
    let reason = match code {
        DriverCode::NO_BINARY_FOR_GPU => Reason::WrongTarget,
        DriverCode::OUT_OF_MEMORY => Reason::OutOfMemory,
        DriverCode::INVALID_IMAGE
        | DriverCode::INVALID_SOURCE
        | DriverCode::INVALID_PTX
        | DriverCode::UNSUPPORTED_PTX_VERSION => Reason::InvalidImage,
        _ => Reason::Other,
    };
    Refused {
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
        // A log with a line blames the text, with any code.
        _ if line.is_some() => Reason::InvalidPtx,
        (
            Some(DriverCode::INVALID_PTX | DriverCode::INVALID_IMAGE | DriverCode::INVALID_SOURCE),
            _,
        ) => Reason::InvalidPtx,
        _ => Reason::Other,
    }
}

/// The definition that contains a line, or else the only kernel. A symbol that nothing defines does
/// not count.
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

#[cfg(test)]
mod tests;
