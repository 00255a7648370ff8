//! The state of a recording driver: its calls, what is alive, and the broken rules.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::calls::{Call, Operation, RecordedFunction, RecordedModule, is_launching};
use crate::assemble::definitions;
use crate::{ContextId, CudaError, DriverCode, Failure};

#[derive(Default)]
pub(super) struct State {
    pub(super) calls: Vec<Call>,
    pub(super) violations: Vec<String>,
    pub(super) failures: VecDeque<(Operation, Failure)>,
    pub(super) globals: HashMap<String, u64>,
    pub(super) primaries: HashMap<u32, Weak<Retained>>,
    pub(super) modules: HashMap<RecordedModule, LoadedText>,
    functions: HashMap<RecordedFunction, RecordedModule>,
    contexts: HashSet<ContextId>,
    /// Modules of a destroyed context that nobody has unloaded since.
    gone: HashSet<RecordedModule>,
    /// The last number of a module or function.
    serial: u64,
}

pub(super) struct LoadedText {
    context: ContextId,
    text: Arc<str>,
}

impl State {
    /// Returns the injected failure for the next call of this kind.
    pub(super) fn fail(&mut self, operation: Operation) -> Result<(), Failure> {
        let next = self.failures.iter().position(|(failing, _)| *failing == operation);
        match next.and_then(|position| self.failures.remove(position)) {
            Some((_, failure)) => Err(failure),
            None => Ok(()),
        }
    }

    /// Records a call, and a violation if it is made on a launch path.
    pub(super) fn record(&mut self, call: Call) {
        if is_launching() && call.operation() != Operation::Launch {
            self.violations.push(format!("{call:?} on a launch path"));
        }
        self.calls.push(call);
    }

    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn new_context(&mut self, device: u32) -> ContextId {
        let id = ContextId::next_on(device);
        self.contexts.insert(id);
        self.record(Call::Context(id));
        id
    }

    pub(super) fn is_there(&self, context: ContextId) -> bool {
        self.contexts.contains(&context)
    }

    pub(super) fn in_context(
        &self,
        call: &'static str,
        context: ContextId,
    ) -> Result<(), CudaError> {
        if self.is_there(context) {
            return Ok(());
        }
        Err(driver_error(call, DriverCode::CONTEXT_IS_DESTROYED))
    }

    pub(super) fn release(&mut self, context: ContextId) {
        self.record(Call::Release(context));
        let orphans = self.modules.values().filter(|module| module.context == context).count();
        if orphans > 0 {
            self.violations.push(format!("{context} was released with {orphans} modules in it"));
        }
        self.destroy(context);
    }

    pub(super) fn destroy(&mut self, context: ContextId) {
        self.contexts.remove(&context);
        let gone = self.modules.extract_if(|_, module| module.context == context);
        self.gone.extend(gone.map(|(module, _)| module));
    }

    pub(super) fn load(&mut self, context: ContextId, text: Arc<str>) -> RecordedModule {
        let module = RecordedModule(self.next());
        self.record(Call::Load(context, module));
        self.modules.insert(module, LoadedText { context, text });
        module
    }

    /// The text of a module. Using one after it was unloaded is a violation.
    fn used(&mut self, call: &'static str, module: RecordedModule) -> Result<Arc<str>, CudaError> {
        if let Some(loaded) = self.modules.get(&module) {
            return Ok(Arc::clone(&loaded.text));
        }
        if self.gone.contains(&module) {
            return Err(driver_error(call, DriverCode::CONTEXT_IS_DESTROYED));
        }
        self.violations.push(format!("{call} on {module:?}, which is not loaded"));
        Err(driver_error(call, DriverCode::INVALID_HANDLE))
    }

    pub(super) fn function(
        &mut self,
        module: RecordedModule,
        name: String,
    ) -> Result<Option<RecordedFunction>, CudaError> {
        let text = self.used("cuModuleGetFunction", module)?;
        let known = definitions(&text).any(|found| found.kernel && found.name == name);
        self.record(Call::Function(module, name));
        Ok(known.then(|| {
            let function = RecordedFunction(self.next());
            self.functions.insert(function, module);
            function
        }))
    }

    pub(super) fn global(
        &mut self,
        module: RecordedModule,
        name: String,
    ) -> Result<Option<u64>, CudaError> {
        self.used("cuModuleGetGlobal", module)?;
        let bytes = self.globals.get(&name).copied();
        self.record(Call::Global(module, name));
        Ok(bytes)
    }

    pub(super) fn unload(&mut self, module: RecordedModule) -> Result<(), CudaError> {
        self.record(Call::Unload(module));
        self.used("cuModuleUnload", module).inspect_err(|_| {
            self.gone.remove(&module);
        })?;
        self.modules.remove(&module);
        Ok(())
    }

    pub(super) fn launch(&mut self, function: RecordedFunction) {
        self.record(Call::Launch(function));
        match self.functions.get(&function).copied() {
            // A launch into a destroyed context fails, and breaks no rule.
            Some(module) => drop(self.used("cuLaunchKernel", module)),
            None => self.violations.push(format!("a launch of {function:?}, which is no function")),
        }
    }
}

/// A context of a [`RecordingDriver`](crate::RecordingDriver).
#[derive(Clone)]
pub struct RecordedContext(pub(super) Arc<Retained>);

pub(super) struct Retained {
    pub(super) id: ContextId,
    pub(super) state: Arc<Mutex<State>>,
}

impl Drop for Retained {
    fn drop(&mut self) {
        lock(&self.state).release(self.id);
    }
}

impl fmt::Debug for RecordedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedContext({})", self.0.id)
    }
}

pub(super) fn driver_error(call: &'static str, code: DriverCode) -> CudaError {
    CudaError::Driver { call, code }
}

pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // No change of the state is half done where a panic can strike.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
