//! The best set where gains do not depend on each other and only the count binds.

use crate::problem::Problem;
use crate::selection::{Candidate, Selection};

/// Memory of [`TopGains::search`].
#[derive(Debug, Default)]
pub(crate) struct TopGains {
    /// Gains as integers that order as the gains do.
    keys: Vec<u64>,
}

impl TopGains {
    /// Adds the candidates of the largest gains to `chosen`, in O(n). Ties go to the lower position.
    ///
    /// The set is the one that greedy would choose, and it is optimal.
    pub(crate) fn search(
        &mut self,
        problem: &Problem,
        candidates: &[Candidate],
        chosen: &mut Selection,
    ) {
        let Self { keys } = self;
        keys.clear();
        keys.extend(candidates.iter().map(|candidate| order_key(candidate.bound)));
        let count = usize::try_from(chosen.room.entries).unwrap_or(usize::MAX).min(keys.len());
        let Some(last) = count.checked_sub(1) else { return };
        // A candidate stays if its key is above the threshold, or equal while ties have slots left.
        let (above, &mut threshold, _) =
            keys.select_nth_unstable_by(last, |left, right| right.cmp(left));
        let mut ties = 1 + above.iter().filter(|&&key| key == threshold).count();
        for &Candidate { entry, bound } in candidates {
            let key = order_key(bound);
            if key < threshold || (key == threshold && ties == 0) {
                continue;
            }
            ties -= usize::from(key == threshold);
            chosen.add(problem, entry as usize, bound);
        }
    }
}

/// The bits of a float that is not negative, read as an integer, order as the floats do.
fn order_key(gain: f64) -> u64 {
    gain.to_bits()
}
