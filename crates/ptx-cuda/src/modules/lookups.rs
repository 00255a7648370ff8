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

    /// Gives the symbol `name` to `read`, or returns `None` where there is none. `ask` finds a symbol
    /// that is not remembered. An error is not remembered.
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
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    fn get<T: Copy>(
        lookups: &Lookups<T>,
        name: &str,
        ask: impl FnOnce(&CString) -> Result<Option<T>, CudaError>,
    ) -> Result<Option<T>, CudaError> {
        lookups.get(name, |answer| *answer, ask)
    }

    #[test]
    fn each_name_is_looked_up_once_even_where_it_is_absent() {
        let lookups = Lookups::new();
        let never = |_: &CString| panic!("asked again");
        assert_eq!(get(&lookups, "there", |_| Ok(Some(7))).unwrap(), Some(7));
        assert_eq!(get(&lookups, "absent", |_| Ok(None)).unwrap(), None);
        assert_eq!(get(&lookups, "there", never).unwrap(), Some(7));
        assert_eq!(get(&lookups, "absent", never).unwrap(), None);
    }

    #[test]
    fn absent_names_do_not_fill_memory() {
        let lookups = Lookups::new();
        for number in 0..10 * MOST_ABSENT {
            assert_eq!(get::<u8>(&lookups, &number.to_string(), |_| Ok(None)).unwrap(), None);
        }
        assert_eq!(lookups.others.load().len(), MOST_ABSENT);
        assert_eq!(get(&lookups, "there", |_| Ok(Some(7))).unwrap(), Some(7));
        let never = |_: &CString| panic!("asked again");
        assert_eq!(get(&lookups, "there", never).unwrap(), Some(7));
    }

    #[test]
    fn threads_that_ask_at_once_get_one_answer() {
        let (lookups, asked) = (Lookups::new(), AtomicU32::new(0));
        let ask =
            || get(&lookups, "a", |_| Ok(Some(asked.fetch_add(1, Ordering::Relaxed)))).unwrap();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Some(0));
            }
        });
        assert_eq!(asked.into_inner(), 1);
    }

    #[test]
    fn an_error_is_not_remembered() {
        let lookups = Lookups::new();
        let name = || CudaError::NotAName { name: String::new() };
        assert!(get(&lookups, "a", |_| Err(name())).is_err());
        assert_eq!(get(&lookups, "a", |_| Ok(Some(1))).unwrap(), Some(1));
    }

    #[test]
    fn a_name_with_a_nul_byte_is_not_looked_up() {
        let lookups = Lookups::<u8>::new();
        let error = get(&lookups, "a\0b", |_| panic!("asked")).unwrap_err();
        assert!(error.to_string().contains("NUL"), "{error}");
    }
}
