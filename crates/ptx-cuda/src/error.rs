//! The error of every step from a text to a function.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_cache::{CacheError, Cause};

use crate::assemble::quoted;
use crate::{DriverCode, Reason, Refused};

/// Why there is no module or function. Cheap to clone: all waiters of a load get the same error.
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
    /// A text is not PTX: it does not begin with a header.
    #[error(
        "not PTX, line {line}: expected {expected}, found {found}; \
         lower again, and remove the stored entry if it came from one"
    )]
    NotPtx {
        /// The line, counted from 1.
        line: u32,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Bytes are not a cubin, or not a whole one.
    #[error("not a cubin: {reason}; remove the stored entry and assemble again")]
    NotCubin {
        /// What is wrong with the bytes.
        reason: String,
    },
    /// A module has no function of this name.
    #[error("the module has no function {}{}", quoted(name), kernels_of(kernels.as_deref()))]
    NoFunction {
        /// The requested name.
        name: String,
        /// The module's kernels, or `None` where its image does not name them.
        kernels: Option<Vec<String>>,
    },
    /// No symbol can have this name.
    #[error("`{}` cannot be a symbol's name: it contains a NUL byte", name.escape_debug())]
    NotAName {
        /// The requested name.
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
    /// An offline assembler cannot be run, or is no `ptxas`.
    #[error(
        "the assembler `{}` cannot be used; name a ptxas that this machine can run, such as the \
         one in the PyPI package nvidia-cuda-nvcc", path.display()
    )]
    Tool {
        /// The assembler.
        path: PathBuf,
        /// Why it cannot be used.
        source: Cause,
    },
    /// An offline assembler was replaced: the old one's keys would name its cubins.
    #[error(
        "the assembler `{}` was replaced after its digest was computed; call `Ptxas::new` again, \
         and make new keys", path.display()
    )]
    ToolReplaced {
        /// The assembler.
        path: PathBuf,
    },
    /// The files that an offline assembler reads and writes cannot be written.
    #[error(
        "cannot write an assembler's files in `{}`; free space there, or name another directory \
         with TMPDIR", directory.display()
    )]
    Scratch {
        /// The directory for temporary files.
        directory: PathBuf,
        /// The system's error.
        source: Cause,
    },
    /// A store failed where a warm-up needs it.
    #[error("the store `{store}` failed; repair it, or name another")]
    Store {
        /// The store's name.
        store: String,
        /// The store's error.
        source: Cause,
    },
    /// The caller's code failed to return a text or image.
    #[error("there is no text to load")]
    Source(#[source] Cause),
    /// The wait for another thread's load failed.
    #[error("the wait for another load of the module failed")]
    Cache(#[source] CacheError),
}

impl CudaError {
    /// The error of a caller's code that should return a text or image. A [`CudaError`] stays as it
    /// is.
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
        Self::Scratch { directory: std::env::temp_dir(), source: Arc::new(source.into()) }
    }

    /// Returns true if memory ran out, on the device or in the assembler.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Refused(refused) => refused.reason == Reason::OutOfMemory,
            Self::Driver { code, .. } => *code == DriverCode::OUT_OF_MEMORY,
            _ => false,
        }
    }

    /// Returns true if the image is wrong, and not the device, the context or memory.
    pub(crate) fn blames_image(&self) -> bool {
        match self {
            Self::NotCubin { .. } => true,
            Self::Refused(refused) => refused.blames_image(),
            _ => false,
        }
    }

    /// Returns true if the image may be wrong: the driver's code may leave it open.
    pub(crate) fn may_blame_image(&self) -> bool {
        self.blames_image() || self.refused().is_some_and(Refused::may_blame_image)
    }

    /// Returns true if the same assembler always refuses the same text.
    pub(crate) fn is_permanent(&self) -> bool {
        self.refused().is_some_and(Refused::is_permanent)
    }

    /// Returns true if the assembler does not know the text's PTX instruction set.
    pub(crate) fn is_unsupported_isa(&self) -> bool {
        self.refused().is_some_and(|refused| refused.reason == Reason::UnsupportedIsa)
    }

    /// The refusal, if the error is one.
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

fn kernels_of(kernels: Option<&[String]>) -> String {
    const MOST: usize = 8;
    let Some(kernels) = kernels else { return String::new() };
    if kernels.is_empty() {
        return "; its text has no kernel at all and may end too early: remove it from the cache of \
                modules, lower again, and remove the stored entry if it came from one"
            .to_owned();
    }
    let shown: Vec<_> = kernels.iter().take(MOST).map(|name| quoted(name)).collect();
    let rest = kernels.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("; it has {}{more}", shown.join(", "))
}
