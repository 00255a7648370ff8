//! The calls that a recording driver records, and where a thread must make none.

use std::cell::Cell;

use crate::ContextId;

/// A module of a [`RecordingDriver`](crate::RecordingDriver): a number that is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordedModule(pub u64);

/// A function of a [`RecordingDriver`](crate::RecordingDriver): a number that is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordedFunction(pub u64);

/// A call of a [`RecordingDriver`](crate::RecordingDriver).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Created or retained a context.
    Context(ContextId),
    /// Released a context with its last user.
    Release(ContextId),
    /// Loaded a module.
    Load(ContextId, RecordedModule),
    /// Looked up a function.
    Function(RecordedModule, String),
    /// Looked up a global variable.
    Global(RecordedModule, String),
    /// Unloaded a module.
    Unload(RecordedModule),
    /// Assembled a text.
    Assemble(ContextId),
    /// Launched a function.
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

/// Runs `launch_path`, during which [`is_launching`] is true in this thread.
pub(super) fn on_launch_path<R>(launch_path: impl FnOnce() -> R) -> R {
    let before = LAUNCHING.replace(true);
    let _restored = scopeguard::guard((), |()| LAUNCHING.set(before));
    launch_path()
}

/// Returns true if this thread runs a launch path.
pub(super) fn is_launching() -> bool {
    // A thread that ends may still drop values that it retired.
    LAUNCHING.try_with(Cell::get).unwrap_or(false)
}
