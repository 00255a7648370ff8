use std::future::{Future, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use pollster::block_on;
use ptx_key::PtxKey;

use crate::{Cache, CacheError, Computed, Config, Served, Source};

type Texts = Cache<PtxKey, Arc<str>>;
type Request<'c> = Pin<Box<dyn Future<Output = Result<Served<Arc<str>>, CacheError>> + Send + 'c>>;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

#[expect(clippy::unnecessary_wraps, reason = "it stands for a making that may fail")]
fn made(text: &str) -> Result<Computed<Arc<str>>, std::fmt::Error> {
    Ok(Computed::from(Arc::from(text)))
}

fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A request whose making never ends, polled until it leads.
fn stuck(cache: &Texts, number: u8) -> Request<'_> {
    let mut request: Request<'_> =
        Box::pin(cache.get_or_compute_async(key(number), pending::<Result<_, std::fmt::Error>>));
    assert!(poll(&mut request).is_pending());
    request
}

fn asks<'c>(cache: &'c Texts, number: u8, text: &'static str) -> Request<'c> {
    Box::pin(cache.get_or_compute_async(key(number), move || ready(made(text))))
}

#[test]
fn the_first_request_makes_and_the_second_hits() {
    let cache = Texts::new(Config::default());
    let first = block_on(asks(&cache, 1, "one")).unwrap();
    assert_eq!((&*first.value, first.source), ("one", Source::Computed));
    let second = block_on(asks(&cache, 1, "two")).unwrap();
    assert_eq!((&*second.value, second.source), ("one", Source::Memory));
    let snapshot = cache.snapshot();
    assert_eq!((snapshot.hits, snapshot.misses, snapshot.computed), (1, 1, 1));
}

#[test]
fn a_dropped_leader_hands_over_to_a_task_that_waits() {
    let cache = Texts::new(Config::default());
    let leader = stuck(&cache, 1);
    let mut waiter = asks(&cache, 1, "taken over");
    assert!(poll(&mut waiter).is_pending());
    drop(leader);
    let served = block_on(waiter).unwrap();
    assert_eq!((&*served.value, served.source), ("taken over", Source::Computed));
}

#[test]
fn a_dropped_leader_hands_over_to_a_thread_that_waits() {
    let cache = Texts::new(Config::default());
    let leader = stuck(&cache, 1);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| cache.get_or_compute(key(1), || made("by a thread")));
        // Whether the thread waits already or comes later, it makes the value.
        drop(leader);
        assert_eq!(&*waiter.join().unwrap().unwrap().value, "by a thread");
    });
}

#[test]
fn a_request_dropped_before_it_is_polled_leaves_nothing() {
    let cache = Texts::new(Config::default());
    drop(asks(&cache, 1, "never"));
    assert_eq!(&*block_on(asks(&cache, 1, "later")).unwrap().value, "later");
}

#[test]
fn a_dropped_waiter_leaves_the_leader_alone() {
    let cache = Texts::new(Config::default());
    let mut turns = 0;
    let mut leader: Request<'_> = Box::pin(cache.get_or_compute_async(key(1), || {
        poll_fn(move |_| {
            turns += 1;
            if turns < 2 { Poll::Pending } else { Poll::Ready(made("led")) }
        })
    }));
    assert!(poll(&mut leader).is_pending());
    let mut waiter = asks(&cache, 1, "waited");
    assert!(poll(&mut waiter).is_pending());
    drop(waiter);
    assert!(matches!(poll(&mut leader), Poll::Ready(Ok(served)) if &*served.value == "led"));
}

#[test]
fn one_making_serves_tasks_and_threads_alike() {
    const EACH: usize = 8;
    let cache = Texts::new(Config::default());
    let makings = AtomicUsize::new(0);
    let make = || {
        makings.fetch_add(1, Ordering::Relaxed);
        thread::sleep(std::time::Duration::from_millis(20));
        made("once")
    };
    thread::scope(|scope| {
        for _ in 0..EACH {
            scope.spawn(|| cache.get_or_compute(key(1), make).unwrap());
            scope.spawn(|| {
                block_on(cache.get_or_compute_async(key(1), || async { make() })).unwrap()
            });
        }
    });
    assert_eq!(makings.load(Ordering::Relaxed), 1);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.hits + snapshot.shared + snapshot.computed, 2 * EACH as u64);
}

#[test]
fn an_error_reaches_all_tasks_that_waited() {
    let cache = Texts::new(Config::default());
    let mut fails = false;
    let mut leader: Request<'_> = Box::pin(cache.get_or_compute_async(key(1), || {
        poll_fn(move |_| {
            fails = !fails;
            if fails { Poll::Pending } else { Poll::Ready(Err(std::fmt::Error)) }
        })
    }));
    assert!(poll(&mut leader).is_pending());
    let mut waiter = asks(&cache, 1, "not asked");
    assert!(poll(&mut waiter).is_pending());
    for request in [&mut leader, &mut waiter] {
        let Poll::Ready(Err(error)) = poll(request) else { panic!("it goes on") };
        assert!(error.lowering_error::<std::fmt::Error>().is_some());
    }
    assert_eq!(&*block_on(asks(&cache, 1, "again")).unwrap().value, "again");
}

#[test]
fn a_panic_in_a_making_wakes_the_tasks_that_wait() {
    let cache = Texts::new(Config::default());
    let mut polled = false;
    let mut leader: Request<'_> = Box::pin(cache.get_or_compute_async(key(1), || {
        poll_fn(move |_| -> Poll<Result<Computed<Arc<str>>, std::fmt::Error>> {
            assert!(!polled, "the making's own panic");
            polled = true;
            Poll::Pending
        })
    }));
    assert!(poll(&mut leader).is_pending());
    let mut waiter = asks(&cache, 1, "not asked");
    assert!(poll(&mut waiter).is_pending());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut leader)));
    assert!(caught.is_err());
    drop(leader);
    assert!(matches!(poll(&mut waiter), Poll::Ready(Err(CacheError::Panicked))));
}

#[test]
fn asking_for_the_key_that_one_is_making_is_an_error() {
    let cache = Texts::new(Config::default());
    let result = block_on(cache.get_or_compute_async(key(1), || async {
        let inner = cache.get_or_compute_async(key(1), || ready(made("inner"))).await;
        inner.map(|served| Computed::from(served.value))
    }));
    assert!(matches!(result, Err(CacheError::Reentry)), "{result:?}");
}

#[test]
fn makings_of_two_tasks_that_wait_for_each_other_are_a_circle_and_not_a_hang() {
    let cache = Texts::new(Config::default());
    let ask = |mine: u8, other: u8| -> Request<'_> {
        let cache = &cache;
        let mut first = true;
        Box::pin(cache.get_or_compute_async(key(mine), move || async move {
            // Both lead before either asks for the other's.
            poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) })
                .await;
            let inner = cache.get_or_compute_async(key(other), || ready(made("inner"))).await;
            inner.map(|served| Computed::from(served.value))
        }))
    };
    let (mut one, mut two) = (ask(1, 2), ask(2, 1));
    assert!(poll(&mut one).is_pending());
    assert!(poll(&mut two).is_pending());
    assert!(poll(&mut one).is_pending(), "one waits for two");
    let Poll::Ready(Err(error)) = poll(&mut two) else { panic!("a circle was not seen") };
    assert!(matches!(error, CacheError::Deadlock), "{error}");
    // The circle's error reached who waited for it.
    assert!(matches!(poll(&mut one), Poll::Ready(Err(_))));
}

#[test]
fn two_requests_of_one_making_may_wait_for_the_same_key() {
    let cache = Texts::new(Config::default());
    let served = block_on(cache.get_or_compute_async(key(1), || async {
        let mut turns = 0;
        let slow = || {
            poll_fn(move |context| {
                turns += 1;
                context.waker().wake_by_ref();
                if turns < 3 { Poll::Pending } else { Poll::Ready(made("shared")) }
            })
        };
        let mut first = pin!(cache.get_or_compute_async(key(2), slow));
        let mut second = pin!(cache.get_or_compute_async(key(2), || ready(made("not asked"))));
        let (mut one, mut two) = (None, None);
        poll_fn(|context| {
            if one.is_none()
                && let Poll::Ready(served) = first.as_mut().poll(context)
            {
                one = Some(served);
            }
            if two.is_none()
                && let Poll::Ready(served) = second.as_mut().poll(context)
            {
                two = Some(served);
            }
            if one.is_some() && two.is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let two = two.map(Result::unwrap).map(|served| served.value);
        assert_eq!(two.as_deref(), Some("shared"));
        one.map_or(Err(CacheError::Panicked), |served| served)
            .map(|served| Computed::from(served.value))
    }))
    .unwrap();
    assert_eq!(&*served.value, "shared");
}
