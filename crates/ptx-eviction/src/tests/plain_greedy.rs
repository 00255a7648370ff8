//! Lazy greedy against the textbook algorithm, which computes every gain in every round.

use proptest::prelude::*;

use super::instance::{Instance, Start, curve};
use crate::density_greedy::DensityGreedy;
use crate::lazy_queue::LazyQueue;
use crate::problem::Entry;
use crate::selection::Selection;
use crate::size::Size;

/// Adds the candidate of the highest priority until nothing fits. Ties go to the lower position.
pub(super) fn plain_greedy(
    start: &Start,
    chosen: &mut Selection,
    priority: impl Fn(usize, f64) -> f64,
) {
    let mut rest: Vec<usize> = start.candidates.iter().map(|one| one.entry as usize).collect();
    loop {
        rest.retain(|&entry| chosen.admits(&start.problem, entry));
        let mut best: Option<(usize, f64, f64)> = None;
        for &entry in &rest {
            let gain = chosen.gain(&start.problem, entry);
            let now = priority(entry, gain);
            if best.is_none_or(|(.., best)| now > best) {
                best = Some((entry, gain, now));
            }
        }
        let Some((entry, gain, _)) = best else { return };
        chosen.add(&start.problem, entry, gain);
    }
}

/// Lazy greedy by the same priority.
pub(super) fn lazy_greedy(
    start: &Start,
    chosen: &mut Selection,
    priority: impl Fn(usize, f64) -> f64,
) {
    let mut queue = LazyQueue::default();
    queue.fill(&start.candidates, start.pinned.room.entries, &priority);
    queue.add_all(&start.problem, chosen, &priority);
}

prop_compose! {
    /// Enough entries for stale bounds, overtaking and ties.
    fn many()(distinct_worths in 1_u32..50)(
        // Tenths are not round in binary, so sums in different orders differ.
        rows in prop::collection::vec(
            (0..distinct_worths, 0_u64..50, 0_u64..60, prop::bool::weighted(0.01)), 1..400,
        ),
        curve in curve(),
        entries in 0_u64..80,
        bytes in 0_u64..2_000,
    ) -> Instance {
        let row = |(tenths, bytes, family, pinned)| {
            Entry { worth: f64::from(tenths) / 10.0, bytes, family, pinned }
        };
        let entries_of = rows.into_iter().map(row).collect();
        Instance { entries: entries_of, curve, budget: Size { entries, bytes } }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lazy_and_plain_greedy_choose_the_same_set(instance in many()) {
        for budget in instance.budgets() {
            let Some(mut start) = instance.start(budget) else { continue };
            let by_gain = |_: usize, gain: f64| gain;
            let lazy = start.choose(|start, chosen| lazy_greedy(start, chosen, by_gain));
            let plain = start.choose(|start, chosen| plain_greedy(start, chosen, by_gain));
            prop_assert_eq!(&lazy, &plain);

            let entries = instance.entries.clone();
            let by_density = |entry: usize, gain: f64| {
                let bytes: u32 = entries[entry].bytes.try_into().unwrap();
                gain / (f64::from(bytes) + 1.5)
            };
            let lazy = start.choose(|start, chosen| lazy_greedy(start, chosen, by_density));
            let plain = start.choose(|start, chosen| plain_greedy(start, chosen, by_density));
            prop_assert_eq!(&lazy, &plain);
        }
    }

    #[test]
    fn density_greedy_is_plain_greedy_where_only_the_count_binds(instance in many()) {
        let budget = Size { entries: instance.budget.entries, ..Size::UNBOUNDED };
        let Some(mut start) = instance.start(budget) else { return Ok(()) };
        let dense = start.choose(|start, chosen| {
            let Start { problem, pinned, candidates } = start;
            DensityGreedy::default().search(problem, pinned, candidates, chosen);
        });
        let plain = start.choose(|start, chosen| plain_greedy(start, chosen, |_, gain| gain));
        prop_assert_eq!(dense, plain);
    }
}
