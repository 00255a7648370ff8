//! Names of one module that were looked up, so that the driver is asked once for each.

use std::collections::HashMap;
use std::ffi::CString;

use ahash::RandomState;
use arc_swap::ArcSwap;

use crate::CudaError;

/// Answers by name. Reading takes no lock and writes nothing; modules have few names, so a new
/// answer copies the table.
#[derive(Debug)]
pub(crate) struct Lookups<T> {
    answers: ArcSwap<HashMap<Box<str>, Option<T>, RandomState>>,
}

impl<T: Clone> Lookups<T> {
    pub(crate) fn new() -> Self {
        Self { answers: ArcSwap::default() }
    }

    /// The answer for `name`, by `ask` where there is none yet. That there is no such symbol is
    /// an answer too. An error is none.
    pub(crate) fn get(
        &self,
        name: &str,
        ask: impl FnOnce(&CString) -> Result<Option<T>, CudaError>,
    ) -> Result<Option<T>, CudaError> {
        if let Some(answer) = self.answers.load().get(name) {
            return Ok(answer.clone());
        }
        let symbol =
            CString::new(name).map_err(|_| CudaError::NotAName { name: name.to_owned() })?;
        let answer = ask(&symbol)?;
        self.answers.rcu(|answers| {
            let mut answers = HashMap::clone(answers);
            answers.insert(name.into(), answer.clone());
            answers
        });
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_asked_for_once_even_where_there_is_no_such_symbol() {
        let lookups = Lookups::new();
        let never = |_: &CString| panic!("asked again");
        assert_eq!(lookups.get("there", |_| Ok(Some(7))).unwrap(), Some(7));
        assert_eq!(lookups.get("absent", |_| Ok(None)).unwrap(), None);
        assert_eq!(lookups.get("there", never).unwrap(), Some(7));
        assert_eq!(lookups.get("absent", never).unwrap(), None);
    }

    #[test]
    fn an_error_is_no_answer() {
        let lookups = Lookups::new();
        let name = || CudaError::NotAName { name: String::new() };
        assert!(lookups.get("a", |_| Err(name())).is_err());
        assert_eq!(lookups.get("a", |_| Ok(Some(1))).unwrap(), Some(1));
    }

    #[test]
    fn a_name_with_a_nul_byte_is_not_asked_for() {
        let lookups = Lookups::<u8>::new();
        let error = lookups.get("a\0b", |_| panic!("asked")).unwrap_err();
        assert!(error.to_string().contains("NUL"), "{error}");
    }
}
