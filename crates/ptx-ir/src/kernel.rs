//! When is a kernel known to be valid?

use std::ops::Deref;

use crate::check::check;
use crate::{KernelParts, LowerError};

/// A checked kernel, which derefs to its parts. Only a configuration can still make lowering fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel(KernelParts);

impl Kernel {
    /// Checks the parts and copies them.
    ///
    /// # Errors
    ///
    /// [`LowerError::Kernel`] if a name, slot, type, size or use is invalid, or if statements or
    /// expressions nest more than 64 deep.
    pub fn new(parts: &KernelParts) -> Result<Self, LowerError> {
        check(parts)?;
        Ok(Self(parts.clone()))
    }
}

/// Read access alone: parts that change must be checked again.
impl Deref for Kernel {
    type Target = KernelParts;

    fn deref(&self) -> &KernelParts {
        &self.0
    }
}
