//! What a recording driver can be asked, and where it must not be.

use std::cell::Cell;

use super::{RecordedFunction, RecordedModule};
use crate::ContextId;

/// What a [`RecordingDriver`](crate::RecordingDriver) was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// To make or retain a context.
    Context(ContextId),
    /// To give back a context, for its last user.
    Release(ContextId),
    /// To load a module.
    Load(ContextId, RecordedModule),
    /// To look up a function.
    Function(RecordedModule, String),
    /// To look up a global variable.
    Global(RecordedModule, String),
    /// To unload a module.
    Unload(RecordedModule),
    /// To assemble a text.
    Assemble(ContextId),
    /// To launch a function.
    Launch(RecordedFunction),
}

/// The kinds of [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`Call::Context`].
    Context,
    /// [`Call::Release`].
    Release,
    /// [`Call::Load`].
    Load,
    /// [`Call::Function`].
    Function,
    /// [`Call::Global`].
    Global,
    /// [`Call::Unload`].
    Unload,
    /// [`Call::Assemble`].
    Assemble,
    /// [`Call::Launch`].
    Launch,
}

impl Call {
    /// Its kind.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Context(_) => Operation::Context,
            Self::Release(_) => Operation::Release,
            Self::Load(..) => Operation::Load,
            Self::Function(..) => Operation::Function,
            Self::Global(..) => Operation::Global,
            Self::Unload(_) => Operation::Unload,
            Self::Assemble(_) => Operation::Assemble,
            Self::Launch(_) => Operation::Launch,
        }
    }
}

thread_local! {
    static LAUNCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `launch_path`, during which [`is_launching`] says so in this thread.
pub(super) fn on_launch_path<R>(launch_path: impl FnOnce() -> R) -> R {
    let before = LAUNCHING.replace(true);
    let _restored = scopeguard::guard((), |()| LAUNCHING.set(before));
    launch_path()
}

/// Whether this thread runs a launch path.
pub(super) fn is_launching() -> bool {
    // A thread that ends may still drop what it retired.
    LAUNCHING.try_with(Cell::get).unwrap_or(false)
}
