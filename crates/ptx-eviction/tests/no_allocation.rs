//! A retainer that has grown to the number of entries allocates nothing more.

use ptx_eviction::{Curve, Entry, Retainer, Size};

/// Allocations of a choice, once the retainer has grown.
fn allocations(entries: &[Entry], budget: Size) -> u64 {
    let mut retainer = Retainer::new(Curve::Log1p);
    // Solvers swap buffers, so it takes a few runs until each buffer has grown.
    for _ in 0..20 {
        drop(retainer.retain(entries, budget));
    }
    allocation_counter::measure(|| drop(retainer.retain(entries, budget))).count_total
}

/// Entries in families of `variants`, every 50th of them pinned if asked for.
fn entries(variants: u32, is_pinned: bool) -> Vec<Entry> {
    let entry = |index: u32| Entry {
        worth: f64::from(index * 7 % 31),
        bytes: u64::from(index * 13 % 47),
        family: u64::from(index / variants) << 40,
        pinned: is_pinned && index % 50 == 3,
    };
    (0..500).map(entry).collect()
}

#[test]
fn a_grown_retainer_is_enough() {
    for is_pinned in [false, true] {
        let entries = entries(4, is_pinned);
        let both = Size { entries: 250, bytes: 4_000 };
        let budgets = [both, Size { bytes: u64::MAX, ..both }, Size { entries: u64::MAX, ..both }];
        for budget in budgets {
            assert_eq!(allocations(&entries, budget), 0, "density greedy, {budget:?}");
            assert_eq!(allocations(&entries[..12], budget), 0, "exact search, {budget:?}");
        }
        let few = Size { entries: 6, bytes: 100 };
        assert_eq!(allocations(&entries[..12], few), 0, "exact search, {few:?}");
    }
}

#[test]
fn a_grown_retainer_is_enough_without_variants() {
    let budget = Size { entries: 250, ..Size::UNBOUNDED };
    assert_eq!(allocations(&entries(1, false), budget), 0);
}

#[test]
fn a_retainer_that_changes_its_solver_is_enough() {
    let (families, unrelated) = (entries(4, true), entries(1, false));
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let budget = Size { entries: 250, bytes: 4_000 };
    let mut choose_all = || {
        for entries in [&families[..], &unrelated, &families[..12], &families[..300]] {
            drop(retainer.retain(entries, budget));
            drop(retainer.retain(entries, Size { bytes: u64::MAX, ..budget }));
        }
    };
    (0..20).for_each(|_| choose_all());
    assert_eq!(allocation_counter::measure(choose_all).count_total, 0);
}
