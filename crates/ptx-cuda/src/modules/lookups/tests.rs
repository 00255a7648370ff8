//! Each symbol is looked up once.

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
    let ask = || get(&lookups, "a", |_| Ok(Some(asked.fetch_add(1, Ordering::Relaxed)))).unwrap();
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
