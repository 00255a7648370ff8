use super::*;

fn within(computation: &Arc<Computation>) -> Arc<Computation> {
    Arc::new(Computation { within: Some(Arc::clone(computation)) })
}

#[test]
fn waiting_for_a_computation_from_within_it_is_reentry() {
    let outer = Computation::begin();
    let inner = within(&within(&outer));
    assert!(matches!(Waiting::begin(Some(outer.clone()), &outer), Err(CacheError::Reentry)));
    assert!(matches!(Waiting::begin(Some(inner), &outer), Err(CacheError::Reentry)));
}

#[test]
fn the_wait_that_makes_a_deadlock_is_refused_and_none_before_it() {
    let (one, two, three) = (Computation::begin(), Computation::begin(), Computation::begin());
    let _first = Waiting::begin(Some(one.clone()), &two).unwrap();
    let _second = Waiting::begin(Some(two), &three).unwrap();
    assert!(matches!(Waiting::begin(Some(three.clone()), &one), Err(CacheError::Deadlock)));
    assert!(matches!(Waiting::begin(Some(within(&three)), &one), Err(CacheError::Deadlock)));
    assert!(Waiting::begin(None, &one).is_ok());
    assert!(Waiting::begin(Some(Computation::begin()), &one).is_ok());
}

#[test]
fn a_deadlock_is_seen_through_the_computations_that_a_waiter_is_within() {
    let (one, two) = (Computation::begin(), Computation::begin());
    let _deep = Waiting::begin(Some(within(&within(&one))), &two).unwrap();
    assert!(matches!(Waiting::begin(Some(within(&two)), &one), Err(CacheError::Deadlock)));
}

#[test]
fn siblings_of_one_computation_may_wait_for_each_other() {
    let outer = Computation::begin();
    let sibling = within(&outer);
    assert!(Waiting::begin(Some(outer), &sibling).is_ok());
}

#[test]
fn a_wait_that_ended_makes_no_deadlock() {
    let (one, two) = (Computation::begin(), Computation::begin());
    let first = Waiting::begin(Some(one.clone()), &two).unwrap();
    let again = Waiting::begin(Some(one.clone()), &two).unwrap();
    drop(first);
    assert!(matches!(Waiting::begin(Some(two.clone()), &one), Err(CacheError::Deadlock)));
    drop(again);
    assert!(Waiting::begin(Some(two), &one).is_ok());
}

#[test]
fn computations_that_end_out_of_order_leave_the_others_running() {
    let (outer, inner) = (Computation::begin(), Computation::begin());
    let first = outer.run();
    let second = inner.run();
    drop(first);
    assert!(Computation::running().is_some_and(|running| Arc::ptr_eq(&running, &inner)));
    drop(second);
    assert!(Computation::running().is_none());
}

#[test]
fn the_running_computation_is_the_innermost_and_only_in_its_thread() {
    let (outer, inner) = (Computation::begin(), Computation::begin());
    let is_running = |computation: &Arc<Computation>| {
        Computation::running().is_some_and(|it| Arc::ptr_eq(&it, computation))
    };
    let _outer = outer.run();
    {
        let _inner = inner.run();
        assert!(is_running(&inner));
    }
    assert!(is_running(&outer));
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(Computation::running().is_none()));
    });
}
