//! Loaded modules and the functions in them.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use scopeguard::ScopeGuard;

use crate::lookups::Lookups;
use crate::unload_queue::{UnloadQueue, Unused};
use crate::{Context, CudaError, Driver, Global, Image, JitLog, Loaded};

/// A loaded module. Cheap to clone.
///
/// It is unloaded after its last user has dropped: every clone, every [`Function`] of it, and the
/// cache that holds it. A module of a [`ModuleCache`](crate::ModuleCache) then waits for the
/// cache's next load, or for [`unload_retired`](crate::ModuleCache::unload_retired); any other is
/// unloaded by the thread that drops it. Its own context is made current for that.
///
/// The driver may load a module whole only when a function of it is looked up. Where memory runs
/// out then, a module of a cache has the cache make room, as a load does.
///
/// A launch runs on after the call returns, and a captured graph holds no module: keep the module
/// until the launch is done, or as long as the graph.
pub struct Module<D: Driver>(Arc<Resident<D>>);

struct Resident<D: Driver> {
    /// Given to [`retire`] when this drops.
    held: ScopeGuard<Held<D>, fn(Held<D>)>,
    functions: Lookups<Named<D::Function>>,
    globals: Lookups<Global>,
    log: JitLog,
    /// For the error of one who asks for another.
    kernels: Option<Box<[String]>>,
}

struct Held<D: Driver> {
    context: Context<D>,
    module: D::Module,
    bytes: u64,
    /// That of the cache which loaded it.
    queue: Option<Arc<UnloadQueue<D>>>,
}

impl<D: Driver> Held<D> {
    /// Asks the driver about the module, which it may not have loaded whole yet.
    fn ask<T>(
        &self,
        question: impl Fn(&D, &D::Module) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let Self { context, module, bytes, queue } = self;
        let ask = || question(context.driver(), module);
        match queue {
            Some(queue) => queue.with_room(context.id().device, *bytes, ask),
            None => ask(),
        }
    }
}

fn retire<D: Driver>(held: Held<D>) {
    let Held { context, module, bytes, queue } = held;
    let unused = Unused { context, module, bytes };
    match queue {
        Some(queue) => queue.push(unused),
        None => unused.unload(),
    }
}

impl<D: Driver> Module<D> {
    pub(crate) fn new(
        context: Context<D>,
        loaded: Loaded<D::Module>,
        image: &Image,
        queue: Option<&Arc<UnloadQueue<D>>>,
    ) -> Self {
        let Loaded { module, log } = loaded;
        let kernels = match image {
            Image::Ptx(ptx) => Some(ptx.kernels().map(str::to_owned).collect()),
            Image::Cubin(cubin) => {
                let kernels = cubin.kernels();
                (!kernels.is_empty()).then(|| kernels.into())
            }
        };
        let bytes = image.device_bytes();
        let held = Held { context, module, bytes, queue: queue.map(Arc::clone) };
        Self(Arc::new(Resident {
            held: scopeguard::guard(held, retire::<D>),
            functions: Lookups::new(),
            globals: Lookups::new(),
            log,
            kernels,
        }))
    }

    /// The function `name`, ready to launch. The driver is asked the first time.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoFunction`] where there is none of this name, and [`CudaError::Driver`].
    pub fn function(&self, name: &str) -> Result<Function<D>, CudaError> {
        let named = self.look_up(name, |named| (named.raw, Arc::clone(&named.name)));
        named.map(|(raw, name)| Function { raw, name, module: self.clone() })
    }

    /// The driver's own function `name`, which does not keep the module loaded. Once it has been
    /// asked for, this writes nothing that another core reads.
    ///
    /// # Errors
    ///
    /// As [`function`](Self::function).
    pub fn raw_function(&self, name: &str) -> Result<D::Function, CudaError> {
        self.look_up(name, |named| named.raw)
    }

    fn look_up<R>(
        &self,
        name: &str,
        read: impl Fn(&Named<D::Function>) -> R,
    ) -> Result<R, CudaError> {
        let held = &*self.0.held;
        let ask = |symbol: &CString| {
            let raw = held.ask(|driver, module| driver.function(module, symbol))?;
            Ok(raw.map(|raw| Named { raw, name: name.into() }))
        };
        let found = self.0.functions.get(name, read, ask)?;
        found.ok_or_else(|| CudaError::NoFunction {
            name: name.to_owned(),
            kernels: self.kernels().map(<[_]>::to_vec),
        })
    }

    /// The global variable `name`; `None` where there is none. The driver is asked the first time.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    pub fn global(&self, name: &str) -> Result<Option<Global>, CudaError> {
        let held = &*self.0.held;
        let ask = |symbol: &CString| held.ask(|driver, module| driver.global(module, symbol));
        self.0.globals.get(name, |global| *global, ask)
    }

    /// Whether this is its only clone, and no function of it is held.
    pub(crate) fn is_held_once(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// The driver's own module. It is valid as long as a user keeps this one.
    pub fn raw(&self) -> &D::Module {
        &self.0.held.module
    }

    /// The context that it is loaded into.
    pub fn context(&self) -> &Context<D> {
        &self.0.held.context
    }

    /// What the assembler said on the way from its text; nothing where it came as a cubin.
    pub fn log(&self) -> &JitLog {
        &self.0.log
    }

    /// What it counts for in a cache: the device bytes of a cubin; the bytes of a PTX text, whose
    /// machine code the driver does not show, and is of the same order.
    pub fn bytes(&self) -> u64 {
        self.0.held.bytes
    }

    /// Its kernels, as the text or image that it was loaded from names them; `None` where that is
    /// an image that names none.
    pub fn kernels(&self) -> Option<&[String]> {
        self.0.kernels.as_deref()
    }
}

impl<D: Driver> Clone for Module<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Driver> fmt::Debug for Module<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("context", &self.context().id())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// A function that can be launched, and keeps its module loaded. Cheap to clone.
pub struct Function<D: Driver> {
    raw: D::Function,
    name: Arc<str>,
    module: Module<D>,
}

/// A function under its name.
#[derive(Clone)]
struct Named<F> {
    raw: F,
    name: Arc<str>,
}

impl<D: Driver> Function<D> {
    /// The driver's own function.
    pub fn raw(&self) -> D::Function {
        self.raw
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The module that it is in.
    pub fn module(&self) -> &Module<D> {
        &self.module
    }
}

impl<D: Driver> Clone for Function<D> {
    fn clone(&self) -> Self {
        let Self { raw, name, module } = self;
        Self { raw: *raw, name: Arc::clone(name), module: module.clone() }
    }
}

impl<D: Driver> fmt::Debug for Function<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
