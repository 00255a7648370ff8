use super::*;

#[derive(Debug, thiserror::Error)]
#[error("a failure")]
struct Failure(#[source] Option<std::io::Error>);

type Numbered = Failures<u64, ahash::RandomState>;

fn failures() -> Numbered {
    Failures::new(ahash::RandomState::with_seeds(1, 2, 3, 4))
}

fn memory(most: usize) -> FailureMemory {
    let is_deterministic = Arc::new(<dyn Error + Send + Sync>::is::<Failure>);
    FailureMemory { lasts: Duration::from_secs(10), most, is_deterministic }
}

fn lowering(error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
    CacheError::Lowering(Arc::new(error.into()))
}

#[derive(Debug, thiserror::Error)]
#[error("one that came of another request")]
struct Outer(#[source] CacheError);

#[test]
fn a_failure_is_the_same_until_its_time_is_over() {
    let (failures, now) = (failures(), Instant::now());
    let error = lowering(Failure(None));
    failures.remember(1, &error, &memory(4), now);
    let later = |seconds| now + Duration::from_secs(seconds);
    let recalled = failures.recall(&1, later(9)).unwrap();
    assert!(
        matches!((&recalled, &error), (CacheError::Lowering(a), CacheError::Lowering(b)) if Arc::ptr_eq(a, b))
    );
    assert!(failures.recall(&1, later(10)).is_none());
    assert!(failures.recall(&2, now).is_none());
}

#[test]
fn what_may_pass_is_not_remembered_whatever_the_caller_says() {
    let (failures, now) = (failures(), Instant::now());
    let everything = FailureMemory { is_deterministic: Arc::new(|_| true), ..memory(usize::MAX) };
    let passing = [
        lowering(Failure(Some(std::io::ErrorKind::TimedOut.into()))),
        lowering(Outer(lowering(std::io::Error::from(std::io::ErrorKind::TimedOut)))),
        lowering(std::io::Error::from(std::io::ErrorKind::OutOfMemory)),
        lowering(Vec::<u64>::new().try_reserve(usize::MAX).unwrap_err()),
        CacheError::Panicked,
        CacheError::Deadlock,
        CacheError::Reentry,
        lowering(CacheError::Deadlock),
    ];
    for error in &passing {
        failures.remember(1, error, &everything, now);
        assert!(failures.recall(&1, now).is_none(), "{error:?}");
    }
    let other = lowering(std::fmt::Error);
    failures.remember(1, &other, &memory(4), now);
    assert!(failures.recall(&1, now).is_none(), "the caller did not call it deterministic");
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let (failures, now) = (failures(), Instant::now());
    (0..5).for_each(|key| failures.remember(key, &lowering(Failure(None)), &memory(3), now));
    let kept: Vec<u64> = (0..5).filter(|key| failures.recall(key, now).is_some()).collect();
    assert_eq!(kept, [2, 3, 4]);
}

#[test]
fn failing_and_being_forgotten_in_turn_leaves_no_trace_that_grows() {
    let (failures, now) = (failures(), Instant::now());
    for turn in 0..100 {
        failures.remember(turn % 2, &lowering(Failure(None)), &memory(8), now);
        failures.forget(&(turn % 2));
    }
    let remembered = lock(&failures.remembered);
    assert!(remembered.of_key.is_empty() && remembered.order.is_empty());
    assert!(!failures.any.load(Ordering::Relaxed));
}

#[test]
fn a_failure_that_came_again_lasts_from_the_last_time() {
    let (failures, now) = (failures(), Instant::now());
    let later = |seconds| now + Duration::from_secs(seconds);
    failures.remember(1, &lowering(Failure(None)), &memory(4), now);
    failures.remember(1, &lowering(Failure(None)), &memory(4), later(8));
    failures.remember(2, &lowering(Failure(None)), &memory(4), later(12));
    assert!(failures.recall(&1, later(12)).is_some());
}
