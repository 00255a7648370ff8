use super::*;

#[test]
fn the_sum_over_threads_that_came_and_went_is_exact() {
    let lookups = Lookups::default();
    for _ in 0..8 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        lookups.of_thread().hit(3);
                        lookups.of_thread().missed();
                    }
                });
            }
        });
    }
    let sums = Sums { hits: 32_000, misses: 32_000, saved_micros: 96_000 };
    assert_eq!(lookups.sums(), sums);
    lookups.clear();
    lookups.of_thread().hit(3);
    assert_eq!(lookups.sums(), Sums { hits: 1, misses: 0, saved_micros: 3 });
}
