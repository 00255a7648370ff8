//! A scratch that has grown to the problem's size is all the memory that a solver needs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, EXACT_CANDIDATES, Entry, FacilityLocation, Modular,
    Objective, Retainer, Scratch, SieveStreaming, Size, WeightedSum, density_greedy, exact_search,
    lazy_greedy, plain_greedy, stochastic_greedy,
};

const N: usize = 300;

fn allocations(mut run: impl FnMut()) -> u64 {
    // Solvers swap buffers, so it takes a few runs until every one of them has its size; a sieve has dozens.
    for _ in 0..20 {
        run();
    }
    allocation_counter::measure(run).count_total
}

fn solvers_allocate_nothing<O: Objective>(objective: &O, sizes: &[u64]) {
    let groups: Vec<u32> = (0..N).map(|element| u32::try_from(element % 30).unwrap()).collect();
    let count = Constraint::new().at_most(N / 3).pinned(&[7, 3]);
    let bytes = count.within_bytes(sizes, sizes.iter().sum::<u64>() / 4);
    let capped = bytes.at_most_per_group(&groups, 2);
    let pinned: Vec<usize> = (EXACT_CANDIDATES..N).collect();
    let few = Constraint::new().at_most(N - 5).pinned(&pinned);
    let mut scratch = Scratch::default();
    for constraint in [count, bytes, capped] {
        let lazy = allocations(|| {
            lazy_greedy(objective, &constraint, &mut scratch).unwrap();
        });
        assert_eq!(lazy, 0, "lazy_greedy {constraint:?}");
        let dense = allocations(|| {
            density_greedy(objective, &constraint, &mut scratch).unwrap();
        });
        assert_eq!(dense, 0, "density_greedy {constraint:?}");
        let plain = allocations(|| {
            plain_greedy(objective, &constraint, &mut scratch).unwrap();
        });
        assert_eq!(plain, 0, "plain_greedy {constraint:?}");
    }
    let stochastic = allocations(|| {
        stochastic_greedy(objective, &count, 0.1, 5, &mut scratch).unwrap();
    });
    assert_eq!(stochastic, 0, "stochastic_greedy");
    let exact = allocations(|| {
        exact_search(objective, &few, &mut scratch).unwrap();
    });
    assert_eq!(exact, 0, "exact_search");

    let mut sieve = SieveStreaming::new(objective, 20, 0.1).unwrap();
    let streamed = allocations(|| {
        sieve.reset();
        (0..N).for_each(|element| sieve.offer(element).unwrap());
        sieve.selection().unwrap();
    });
    assert_eq!(streamed, 0, "SieveStreaming");
}

#[test]
fn a_grown_scratch_is_enough() {
    let weights: Vec<f64> = (0_u32..).map(|e| f64::from(e * 7 % 31)).take(N).collect();
    let sizes: Vec<u64> = (0..).map(|e| e * 13 % 47).take(N).collect();
    let families: Vec<u32> = (0..).map(|e| e / 4).take(N).collect();
    let modular = Modular::new(&weights).unwrap();
    let concave = ConcaveOverGroups::new(&weights, &families, Curve::SquareRoot).unwrap();
    let near = |element: usize, client: usize| {
        1.0 / f64::from(1 + u32::try_from(element.abs_diff(client)).unwrap())
    };
    let facility = FacilityLocation::new(N, 20, near);
    solvers_allocate_nothing(&modular, &sizes);
    solvers_allocate_nothing(&concave, &sizes);
    solvers_allocate_nothing(&WeightedSum::new((1.0, concave), (2.0, facility)).unwrap(), &sizes);
}

#[test]
fn a_grown_retainer_is_enough() {
    let entries: Vec<Entry> = (0_u32..500)
        .map(|index| Entry {
            worth: f64::from(index * 7 % 31),
            bytes: u64::from(index * 13 % 47),
            family: u64::from(index / 4) << 40,
            pinned: index % 50 == 3,
        })
        .collect();
    let mut retainer = Retainer::new(Curve::Log1p);
    let budgets = Size { entries: 250, bytes: 4_000 };
    assert_eq!(allocations(|| drop(retainer.retain(&entries, budgets))), 0);
    assert_eq!(allocations(|| drop(retainer.retain(&entries[..12], budgets))), 0);
}
