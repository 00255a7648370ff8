//! Loaded modules and their functions.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use scopeguard::ScopeGuard;

use super::lookups::Lookups;
use super::room::Room;
use super::unload::Unused;
use crate::{Context, CudaError, Driver, Global, Image, JitLog, Loaded};

/// A loaded module. Cheap to clone.
///
/// Its users are its clones, its [`Function`]s, and the cache that holds it. After the last user
/// drops, a module of a [`ModuleCache`](crate::ModuleCache) waits for the cache's next load, or for
/// [`unload_retired`](crate::ModuleCache::unload_retired); the dropping thread unloads any other.
///
/// The driver may load a module only when a function of it is looked up. Where memory runs out
/// then, the cache evicts idle modules, as for a load.
///
/// A launch continues after its call returns, and a captured graph holds no module: keep the module
/// until the launch is done, or as long as the graph.
pub struct Module<D: Driver>(Arc<Size<D>>);

struct Size<D: Driver> {
    /// Given to [`retire`] when this drops.
    held: ScopeGuard<Held<D>, fn(Held<D>)>,
    functions: Lookups<Named<D::Function>>,
    globals: Lookups<Global>,
    log: JitLog,
    /// For the error of a lookup that finds nothing.
    kernels: Option<Box<[String]>>,
}

struct Held<D: Driver> {
    context: Context<D>,
    module: D::Module,
    bytes: u64,
    /// The cache's, if a cache loaded the module.
    room: Option<Arc<Room<D>>>,
}

impl<D: Driver> Held<D> {
    /// Asks the driver about the module, which it may load only now.
    fn ask<T>(
        &self,
        question: impl Fn(&D, &D::Module) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let Self { context, module, bytes, room } = self;
        let ask = || question(context.driver(), module);
        match room {
            Some(room) => room.retry(context.id().device, *bytes, ask),
            None => ask(),
        }
    }
}

impl<D: Driver> Context<D> {
    /// Loads a module outside of every [`ModuleCache`](crate::ModuleCache). The driver assembles a
    /// text itself here, also where the context has [another assembler](Self::assembled_by).
    ///
    /// # Errors
    ///
    /// [`CudaError::Refused`] where the driver refuses the text or image, and any other error of
    /// the driver's call.
    pub fn load(&self, image: &Image) -> Result<Module<D>, CudaError> {
        self.load_for(None, image, &JitLog::default())
    }

    /// [`load`](Self::load) for a cache, with the log of the image's assembly.
    pub(crate) fn load_for(
        &self,
        room: Option<&Arc<Room<D>>>,
        image: &Image,
        assembly: &JitLog,
    ) -> Result<Module<D>, CudaError> {
        let Loaded { module, log } = self.load_raw(image)?;
        let loaded = Loaded { module, log: assembly.followed_by(&log) };
        Ok(Module::new(self.clone(), loaded, image, room))
    }
}

fn retire<D: Driver>(held: Held<D>) {
    let Held { context, module, bytes, room } = held;
    let unused = Unused { context, module, bytes };
    match room {
        Some(room) => room.queue().push(unused),
        None => unused.unload(),
    }
}

impl<D: Driver> Module<D> {
    fn new(
        context: Context<D>,
        loaded: Loaded<D::Module>,
        image: &Image,
        room: Option<&Arc<Room<D>>>,
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
        let held = Held { context, module, bytes, room: room.map(Arc::clone) };
        Self(Arc::new(Size {
            held: scopeguard::guard(held, retire::<D>),
            functions: Lookups::new(),
            globals: Lookups::new(),
            log,
            kernels,
        }))
    }

    /// The function `name`, ready to launch. Only the first request for a name calls the driver.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoFunction`] where there is none of this name, and [`CudaError::Driver`].
    pub fn function(&self, name: &str) -> Result<Function<D>, CudaError> {
        let named = self.look_up(name, |named| (named.raw, Arc::clone(&named.name)));
        named.map(|(raw, name)| Function { raw, name, module: self.clone() })
    }

    /// The driver's function `name`, which does not keep the module loaded. After the first request
    /// this writes nothing that another core reads.
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

    /// The global variable `name`, or `None` where there is none. Only the first request for a name
    /// calls the driver.
    ///
    /// # Errors
    ///
    /// [`CudaError::Driver`] where the driver cannot tell.
    pub fn global(&self, name: &str) -> Result<Option<Global>, CudaError> {
        let held = &*self.0.held;
        let ask = |symbol: &CString| held.ask(|driver, module| driver.global(module, symbol));
        self.0.globals.get(name, |global| *global, ask)
    }

    /// Returns true if this is the only clone, and nobody holds a function of the module.
    pub(crate) fn is_held_once(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// The driver's module, valid as long as a user keeps this one.
    pub fn raw(&self) -> &D::Module {
        &self.0.held.module
    }

    /// The module's context.
    pub fn context(&self) -> &Context<D> {
        &self.0.held.context
    }

    /// The assembler's log. Empty for a module that was loaded from a cubin.
    pub fn log(&self) -> &JitLog {
        &self.0.log
    }

    /// The module's weight in a cache: a cubin's device bytes, or a text's own bytes, which are of
    /// the same order as its machine code.
    pub fn bytes(&self) -> u64 {
        self.0.held.bytes
    }

    /// The kernels that the module's text or image names. `None` where an image names none.
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

/// A function that keeps its module loaded. Cheap to clone.
pub struct Function<D: Driver> {
    raw: D::Function,
    name: Arc<str>,
    module: Module<D>,
}

/// A function with its name.
#[derive(Clone)]
struct Named<F> {
    raw: F,
    name: Arc<str>,
}

impl<D: Driver> Function<D> {
    /// The driver's function.
    pub fn raw(&self) -> D::Function {
        self.raw
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function's module.
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
