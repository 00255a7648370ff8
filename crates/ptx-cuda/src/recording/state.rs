//! What a recording driver knows: the calls, what is alive, and what was done wrong.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};

use super::calls::is_launching;
use super::{Call, Operation, RecordedFunction, RecordedModule, Retained, driver_error};
use crate::tokens::definitions;
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
    /// Modules that went with a destroyed context and were not unloaded since.
    gone: HashSet<RecordedModule>,
    /// Numbers given so far, to modules and functions alike.
    serial: u64,
}

pub(super) struct LoadedText {
    context: ContextId,
    text: Arc<str>,
}

impl State {
    /// The failure that was given for the next call of this kind.
    pub(super) fn fail(&mut self, operation: Operation) -> Result<(), Failure> {
        let next = self.failures.iter().position(|(failing, _)| *failing == operation);
        match next.and_then(|position| self.failures.remove(position)) {
            Some((_, failure)) => Err(failure),
            None => Ok(()),
        }
    }

    /// Records a call, and that it was made where none may be.
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
            self.violations.push(format!("{context} was given back with {orphans} modules in it"));
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

    /// The text of a module that is used; it is wrong to use one after it was unloaded.
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
            // A launch into a destroyed context fails, and breaks no discipline.
            Some(module) => drop(self.used("cuLaunchKernel", module)),
            None => self.violations.push(format!("a launch of {function:?}, which is no function")),
        }
    }
}
