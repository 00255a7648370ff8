//! What can go wrong between a text and a function that can be launched.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_cache::{CacheError, Cause};

use crate::ptx::printable;
use crate::{DriverCode, Reason, Refused};

/// Why there is no module, function or buffer. Cheap to clone: everyone who waited for a load
/// gets the same.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The driver or an offline assembler refused a text or image.
    #[error("{0}")]
    Refused(Arc<Refused>),
    /// A call of the driver failed.
    #[error("{call} failed with {code}; {}", code.cure())]
    Driver {
        /// The call.
        call: &'static str,
        /// What it returned.
        code: DriverCode,
    },
    /// A text is not PTX: its header is not where it must be.
    #[error(
        "not PTX, line {line}: expected {expected}, found {found}; \
         lower again, and drop the stored entry if it came from one"
    )]
    NotPtx {
        /// The line, counted from 1.
        line: u32,
        /// What should stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// Bytes are not a cubin, or not a whole one.
    #[error("not a cubin: {reason}; drop the stored entry and assemble again")]
    NotCubin {
        /// What is wrong with them.
        reason: String,
    },
    /// A module has no function of this name.
    #[error("the module has no function {}{}", quoted(name), kernels_of(kernels.as_deref()))]
    NoFunction {
        /// The name that was asked for.
        name: String,
        /// The kernels that it has; `None` where it came from an image that does not name them.
        kernels: Option<Vec<String>>,
    },
    /// A name that no symbol can have.
    #[error("`{}` is not a symbol's name: it holds a NUL byte", name.escape_debug())]
    NotAName {
        /// The name that was asked for.
        name: String,
    },
    /// A JIT option that the assembler does not take.
    #[error("the assembler takes no option `{option}`: {reason}")]
    UnsupportedOption {
        /// The option.
        option: String,
        /// Why, and what it takes.
        reason: &'static str,
    },
    /// Arguments do not fit a kernel's parameters.
    #[error("`{kernel}` takes {expected}, got {found}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// An offline assembler could not be run, or is none.
    #[error(
        "the assembler `{}` cannot be used: {source}; \
         name a ptxas that this machine can run, such as the one in the PyPI package \
         nvidia-cuda-nvcc", path.display()
    )]
    Tool {
        /// The assembler.
        path: PathBuf,
        /// What was wrong with it.
        source: Cause,
    },
    /// An offline assembler was replaced: what it makes would be kept under the old one's keys.
    #[error(
        "the assembler `{}` was replaced after its digest was taken; take it anew, with keys of \
         its own", path.display()
    )]
    ToolReplaced {
        /// The assembler.
        path: PathBuf,
    },
    /// What an offline assembler reads and writes had no place.
    #[error(
        "no place for an assembler's files in `{}`: {source}; free space there, or name another \
         folder with TMPDIR", folder.display()
    )]
    Scratch {
        /// The folder for temporary files.
        folder: PathBuf,
        /// The system's word.
        source: Cause,
    },
    /// A store could not give or keep a cubin, where that was the point.
    #[error("the store `{store}` failed: {source}; mend it, or name another")]
    Store {
        /// The store's name.
        store: String,
        /// What it said.
        source: Cause,
    },
    /// What was to give the text or image failed.
    #[error("no text to load: {0}")]
    Source(#[source] Cause),
    /// The cache could not wait for the load of a module.
    #[error("the module cache: {0}")]
    Cache(#[source] CacheError),
}

impl CudaError {
    /// What a caller's code said when it was asked for a text or image; a [`CudaError`] of its own
    /// stays as it is.
    pub(crate) fn from_source(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(own) => *own,
            Err(other) => Self::Source(Arc::new(other)),
        }
    }

    pub(crate) fn of_tool(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Tool { path: path.to_owned(), source: Arc::new(source.into()) }
    }

    pub(crate) fn of_scratch(source: io::Error) -> Self {
        Self::Scratch { folder: std::env::temp_dir(), source: Arc::new(source.into()) }
    }

    /// Whether memory ran out, on the device or in the assembler.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Refused(refused) => refused.reason == Reason::OutOfMemory,
            Self::Driver { code, .. } => *code == DriverCode::OUT_OF_MEMORY,
            _ => false,
        }
    }

    /// Whether it is a loaded image that is wrong, and not the device, the context or memory.
    pub(crate) fn blames_image(&self) -> bool {
        match self {
            Self::NotCubin { .. } => true,
            Self::Refused(refused) => refused.blames_image(),
            _ => false,
        }
    }

    /// Whether it may be the image that is wrong: what the driver says would not tell.
    pub(crate) fn may_blame_image(&self) -> bool {
        self.blames_image() || self.refused().is_some_and(Refused::may_blame_image)
    }

    /// Whether the same assembler will always say this of the same text.
    pub(crate) fn is_permanent(&self) -> bool {
        self.refused().is_some_and(Refused::is_permanent)
    }

    /// Whether a text is in a PTX instruction set that the assembler does not know.
    pub(crate) fn is_unsupported_isa(&self) -> bool {
        self.refused().is_some_and(|refused| refused.reason == Reason::UnsupportedIsa)
    }

    /// The refusal, where it is one.
    pub fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl From<Refused> for CudaError {
    fn from(refused: Refused) -> Self {
        Self::Refused(Arc::new(refused))
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", printable(name))
}

fn kernels_of(kernels: Option<&[String]>) -> String {
    const MOST: usize = 8;
    let Some(kernels) = kernels else { return String::new() };
    if kernels.is_empty() {
        return "; its text has no kernel at all and may end too early: take it out of the cache \
                of modules, lower again, and drop the stored entry if it came from one"
            .to_owned();
    }
    let shown: Vec<_> = kernels.iter().take(MOST).map(|name| quoted(name)).collect();
    let rest = kernels.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("; it has {}{more}", shown.join(", "))
}
