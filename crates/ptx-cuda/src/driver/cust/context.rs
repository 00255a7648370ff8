//! Contexts of the driver: retained or created, and made current.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cust::context::legacy::{self, ContextFlags, ContextStack, CurrentContext, UnownedContext};
use cust::device::Device;
use scopeguard::ScopeGuard;

use super::calls::{OwnContext, context_number, cust_error, primary_is_active};
use crate::{ContextId, CudaError, DriverCode};

/// A context of the CUDA driver, retained as long as a clone of it lives.
#[derive(Clone)]
pub struct CustContext {
    pub(super) live: Arc<LiveContext>,
    pub(super) id: ContextId,
}

impl CustContext {
    pub(super) fn live(&self) -> &LiveContext {
        &self.live
    }
}

impl fmt::Debug for CustContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustContext({})", self.id)
    }
}

/// A context that exists while this lives, unless someone destroys it by unsafe means.
pub(super) struct LiveContext {
    owner: Owner,
    /// The driver's number of the context, where the driver is recent enough to have one.
    number: Option<u64>,
}

/// Releases or destroys the context when it drops.
enum Owner {
    Primary(cust::context::Context, Device),
    /// Given to [`destroy`] when this drops.
    Own(ScopeGuard<Own, fn(Own)>),
}

struct Own {
    context: OwnContext,
    number: Option<u64>,
}

/// Destroys a context, unless someone else did: the driver does not define what a second time does.
fn destroy(Own { context, number }: Own) {
    if context_number(&context.0).and_then(Result::ok) != number {
        std::mem::forget(context);
    }
}

impl LiveContext {
    /// Retains a device's primary context. The calling thread's current context stays.
    pub(super) fn primary(ordinal: u32) -> Result<Self, CudaError> {
        let failed = |error| cust_error("cuDevicePrimaryCtxRetain", error);
        let device = Device::get_device(ordinal).map_err(failed)?;
        let _keep = KeepCurrent::new()?;
        let context = cust::context::Context::new(device).map_err(failed)?;
        let number = context_number(&context).and_then(Result::ok);
        Ok(Self { owner: Owner::Primary(context, device), number })
    }

    /// Creates a context. The calling thread's current context stays.
    pub(super) fn own(ordinal: u32) -> Result<Self, CudaError> {
        let failed = |error| cust_error("cuCtxCreate", error);
        let device = Device::get_device(ordinal).map_err(failed)?;
        let context = legacy::Context::create_and_push(ContextFlags::SCHED_AUTO, device);
        let context = context.map_err(failed)?;
        ContextStack::pop().map_err(failed)?;
        let number = context_number(&context).and_then(Result::ok);
        let own = Own { context: OwnContext(context), number };
        let owner = scopeguard::guard(own, destroy as fn(Own));
        Ok(Self { owner: Owner::Own(owner), number })
    }

    /// Makes the context current on this thread until the guard drops.
    pub(super) fn enter(&self) -> Result<Entered<'_>, CudaError> {
        self.check()?;
        let pushed = match &self.owner {
            Owner::Primary(context, _) => ContextStack::push(context),
            Owner::Own(own) => ContextStack::push(&own.context.0),
        };
        pushed.map_err(|error| cust_error("cuCtxPushCurrent", error))?;
        Ok(Entered { context: PhantomData })
    }

    /// Fails where the context was destroyed or reset behind its owner's back: the driver does not
    /// define what its handles do then.
    pub(super) fn check(&self) -> Result<(), CudaError> {
        let number = self.owner.number().transpose()?;
        let reset = matches!(self.owner, Owner::Primary(_, device) if !primary_is_active(device));
        if number != self.number || reset {
            let code = DriverCode::CONTEXT_IS_DESTROYED;
            return Err(CudaError::Driver { call: "cuCtxPushCurrent", code });
        }
        Ok(())
    }
}

impl Owner {
    fn number(&self) -> Option<Result<u64, CudaError>> {
        match self {
            Self::Primary(context, _) => context_number(context),
            Self::Own(own) => context_number(&own.context.0),
        }
    }
}

/// A context that is current on this thread until this drops. Then the context that was current
/// before is current again. Drop several in reverse order.
pub struct Entered<'c> {
    /// Bound to the thread.
    context: PhantomData<(&'c LiveContext, *const ())>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // It fails only where the driver is gone, and then nothing is current.
        let _ = ContextStack::pop();
    }
}

impl fmt::Debug for Entered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").field("context", &self.context).finish()
    }
}

/// Restores the current context when it drops: `cust` makes a primary context current when it
/// retains it.
struct KeepCurrent(UnownedContext);

impl KeepCurrent {
    fn new() -> Result<Self, CudaError> {
        let current = CurrentContext::get_current();
        Ok(Self(current.map_err(|error| cust_error("cuCtxGetCurrent", error))?))
    }
}

impl Drop for KeepCurrent {
    fn drop(&mut self) {
        // It fails only where the driver is gone, and then there is nothing to restore.
        let _ = CurrentContext::set_current(&self.0);
    }
}
