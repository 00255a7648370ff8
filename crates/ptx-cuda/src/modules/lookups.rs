//! The symbols of a module by name, each looked up in the driver once.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ahash::RandomState;
use arc_swap::ArcSwap;

use crate::CudaError;

/// How many absent names are remembered: a caller may ask for any number.
const MOST_ABSENT: usize = 64;

type Answers<T> = HashMap<Box<str>, Option<T>, RandomState>;

/// Answers by name. Reading takes no lock and writes nothing; modules have few names, so a new
/// answer copies the table.
#[derive(Debug)]
pub(crate) struct Lookups<T> {
    /// The first answer. Most modules are asked for a single name, which is then compared and not
    /// hashed.
    first: OnceLock<(Box<str>, Option<T>)>,
    others: ArcSwap<Answers<T>>,
    /// Held by the one thread that asks.
    asking: Mutex<()>,
}

impl<T: Clone> Lookups<T> {
    pub(crate) fn new() -> Self {
        Self { first: OnceLock::new(), others: ArcSwap::default(), asking: Mutex::new(()) }
    }

    /// Gives the symbol `name` to `read`, or returns `None` where there is none. `ask` finds a
    /// symbol that is not remembered. An error is not remembered.
    ///
    /// `read` borrows the symbol: a clone would write a count that other cores read.
    #[inline]
    pub(crate) fn get<R>(
        &self,
        name: &str,
        read: impl Fn(&T) -> R,
        ask: impl FnOnce(&CString) -> Result<Option<T>, CudaError>,
    ) -> Result<Option<R>, CudaError> {
        match self.first.get() {
            Some((first, answer)) if **first == *name => Ok(answer.as_ref().map(read)),
            _ => self.get_other(name, read, ask),
        }
    }

    fn get_other<R>(
        &self,
        name: &str,
        read: impl Fn(&T) -> R,
        ask: impl FnOnce(&CString) -> Result<Option<T>, CudaError>,
    ) -> Result<Option<R>, CudaError> {
        if let Some(answer) = self.others.load().get(name) {
            return Ok(answer.as_ref().map(read));
        }
        Ok(self.ask(name, ask)?.as_ref().map(read))
    }

    #[cold]
    fn ask(
        &self,
        name: &str,
        ask: impl FnOnce(&CString) -> Result<Option<T>, CudaError>,
    ) -> Result<Option<T>, CudaError> {
        let symbol =
            CString::new(name).map_err(|_| CudaError::NotAName { name: name.to_owned() })?;
        // It guards no data, so a panic leaves none half changed.
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let others = self.others.load();
        let known = self.first.get().filter(|(first, _)| **first == *name);
        if let Some(answer) = known.map(|(_, answer)| answer).or_else(|| others.get(name)) {
            return Ok(answer.clone());
        }
        let answer = ask(&symbol)?;
        if self.first.set((name.into(), answer.clone())).is_err() {
            let absent = others.values().filter(|answer| answer.is_none());
            if answer.is_none() && absent.count() >= MOST_ABSENT {
                return Ok(None);
            }
            let mut more = Answers::clone(&others);
            more.insert(name.into(), answer.clone());
            self.others.store(Arc::new(more));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests;
