//! Progress, failures and panics of a warm-up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use ptx_cache::Config;

use super::*;
use crate::{Operation, RecordingDriver};

fn texts(count: usize) -> Vec<String> {
    let text =
        |number| format!(".version 9.0\n.target sm_90\n.entry kernel_{number}() {{ ret; }}\n");
    (0..count).map(text).collect()
}

#[test]
fn progress_reports_every_key_once_and_failures_stop_nothing() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let mut texts = texts(40);
    texts[7] = texts[7].replace("9.0", "99.0");
    for threads in [None, NonZeroUsize::new(8), NonZeroUsize::new(1)] {
        let wanted =
            texts.iter().map(|text| (context.module_key_of_text(text), || Ptx::new(text.as_str())));
        let told = Mutex::new(Vec::new());
        let warmed = modules.warm(&context, wanted, threads, |progress| {
            assert_eq!(progress.total, 40);
            told.lock().unwrap().push((progress.done, *progress.key));
        });
        let mut told = told.into_inner().unwrap();
        told.sort_unstable_by_key(|(done, _)| *done);
        assert!(told.iter().map(|(done, _)| *done).eq(1..=40));
        let [(failed, error)] = &warmed.failures[..] else { panic!("{warmed:?}") };
        assert_eq!(*failed, context.module_key_of_text(&texts[7]));
        assert!(error.to_string().contains("lower for PTX ISA 9.0"), "{error}");
        assert_eq!(warmed.computed + warmed.already_there, 39);
    }
    assert_eq!(driver.count(Operation::Load), 39);
}

#[test]
fn a_panic_reaches_the_caller_unchanged() {
    let context = Context::primary(&RecordingDriver::new(), 0).unwrap();
    let modules = ModuleCache::new(Config::default());
    let (caller, both) = (thread::current().id(), Barrier::new(2));
    let texts = texts(2);
    let wanted = texts.iter().map(|text| {
        let image = || {
            both.wait();
            assert_eq!(thread::current().id(), caller, "a lowering's bug");
            Ptx::new(text.as_str())
        };
        (context.module_key_of_text(text), image)
    });
    let threads = NonZeroUsize::new(2);
    let warm = || modules.warm(&context, wanted, threads, |_| {});
    let panic = catch_unwind(AssertUnwindSafe(warm)).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("a lowering's bug"), "{said}");
}

#[test]
fn an_empty_list_is_no_failure() {
    let context = Context::primary(&RecordingDriver::new(), 0).unwrap();
    let nothing =
        texts(0).into_iter().map(|text| (context.module_key_of_text(&text), || Ptx::new(text)));
    let modules = ModuleCache::new(Config::default());
    let warmed = modules.warm(&context, nothing, None, |_| panic!("no progress"));
    assert_eq!((warmed.computed, warmed.already_there, warmed.failures.len()), (0, 0, 0));
}
