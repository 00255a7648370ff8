//! Properties of the counts, and models of two threads that reserve and release at once.

#[cfg(not(loom))]
mod properties {
    use super::super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_counts_fit_beside_each_other() {
        let accounting = Accounting::default();
        assert!(accounting.reserve(COUNTABLE.bytes, Size::UNBOUNDED));
        assert!(!accounting.reserve(1, Size::UNBOUNDED));
        assert!(accounting.reserve(0, Size::UNBOUNDED));
        let full = Size { entries: 2, bytes: COUNTABLE.bytes };
        assert_eq!(accounting.resident(), full);
        assert!(!accounting.reserve(u64::MAX, Size { entries: u64::MAX, bytes: u64::MAX }));
        accounting.release(COUNTABLE.bytes);
        accounting.release(0);
        assert_eq!(accounting.resident(), Size::default());
    }

    proptest! {
        #[test]
        fn counts_are_the_sums_and_never_over_budget(
            steps in prop::collection::vec((0_u64..50, any::<bool>()), 1..200),
            entries in 0_u64..10,
            bytes in 0_u64..200,
        ) {
            let accounting = Accounting::default();
            let budget = Size { entries, bytes };
            let mut held: Vec<u64> = Vec::new();
            for (weight, release) in steps {
                if release {
                    if let Some(weight) = held.pop() {
                        accounting.release(weight);
                    }
                } else {
                    let fits = (held.len() as u64) < entries
                        && held.iter().sum::<u64>() + weight <= bytes;
                    prop_assert_eq!(accounting.reserve(weight, budget), fits);
                    if fits {
                        held.push(weight);
                    }
                }
                let sums = Size { entries: held.len() as u64, bytes: held.iter().sum() };
                prop_assert_eq!(accounting.resident(), sums);
            }
        }
    }
}

#[cfg(loom)]
mod models {
    use std::sync::Arc;

    use loom::thread;

    use super::super::Accounting;
    use crate::Size;
    use crate::sync::model;

    /// Counters: two reservations at once never exceed the budget together.
    #[test]
    fn two_reservations_at_once_keep_to_the_budget() {
        model(3, || {
            let accounting = Arc::new(Accounting::default());
            let reserve = |accounting: &Accounting| {
                usize::from(accounting.reserve(6, Size { entries: 2, bytes: 10 }))
            };
            let other = {
                let accounting = Arc::clone(&accounting);
                thread::spawn(move || reserve(&accounting))
            };
            let reserved = reserve(&accounting) + other.join().unwrap();
            assert_eq!(reserved, 1);
            assert_eq!(accounting.resident(), Size { entries: 1, bytes: 6 });
        });
    }

    /// Counters: what two threads reserve and release at once leaves nothing behind.
    #[test]
    fn reservations_and_releases_at_once_leave_nothing() {
        model(3, || {
            let accounting = Arc::new(Accounting::default());
            let pass = |accounting: &Accounting, weight: u64| {
                assert!(accounting.reserve(weight, Size::UNBOUNDED));
                accounting.release(weight);
            };
            let other = {
                let accounting = Arc::clone(&accounting);
                thread::spawn(move || pass(&accounting, 7))
            };
            pass(&accounting, 6);
            other.join().unwrap();
            assert_eq!(accounting.resident(), Size::default());
        });
    }
}
