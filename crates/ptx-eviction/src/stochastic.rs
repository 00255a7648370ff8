//! Greedy over random samples, for ground sets too large to look at in every round.

use crate::Error;
use crate::constraint::Constraint;
use crate::objective::{Objective, checked_gain};
use crate::random::SplitMix64;
use crate::scratch::{Scratch, Selection};

/// Greedy that in each round looks at a random sample of `(n/k)·ln(1/ε)` elements (Mirzasoleiman,
/// Badanidiyuru, Karbasi, Vondrák and Krause, *Lazier than lazy greedy*, AAAI 2015, algorithm 1).
///
/// Takes a count and pinned elements. The seed decides the set; ties within a sample go to the lower index.
///
/// # Guarantee
/// In expectation over seeds at least `1 − 1/e − ε` of the optimum (theorem 1 there).
///
/// # Complexity
/// `O(n·ln(1/ε))` gains, independent of the count. Worth it where a gain is dear, as in facility location; where
/// gains are cheap, [`lazy_greedy`](crate::lazy_greedy) is usually faster and better.
///
/// # Errors
/// [`Error::Parameter`] when `epsilon` is not strictly between 0 and 1; [`Error::Unsupported`] for a byte budget
/// or a cap on groups; otherwise as [`lazy_greedy`](crate::lazy_greedy).
pub fn stochastic_greedy<'s, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    epsilon: f64,
    seed: u64,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    if !(epsilon > 0.0 && epsilon < 1.0) {
        return Err(Error::Parameter {
            name: "epsilon",
            value: epsilon,
            range: "strictly between 0 and 1",
        });
    }
    let unsupported = |constraint, instead| Error::Unsupported {
        solver: "stochastic_greedy",
        constraint,
        instead,
    };
    if constraint.limits_bytes() {
        return Err(unsupported("byte budget", "density_greedy"));
    }
    if constraint.limits_groups() {
        return Err(unsupported("cap on groups", "lazy_greedy"));
    }

    scratch.pin(objective, constraint)?;
    scratch.list_free(constraint);
    let Scratch { current, free, .. } = scratch;
    let sample = sample_size(free.len(), current.room.count, epsilon);
    let mut random = SplitMix64::new(seed);
    while current.room.count > 0 && !free.is_empty() {
        let mut best: Option<(usize, f64)> = None;
        for position in 0..sample.min(free.len()) {
            // One step of a Fisher–Yates shuffle: sampling without replacement.
            let drawn = position + random.below(free.len() - position);
            free.swap(position, drawn);
            let element = free[position].element;
            let gain = checked_gain(objective, &current.state, element as usize)?;
            let better = best.is_none_or(|(at, best)| {
                let by_gain = gain.total_cmp(&best);
                by_gain.then(free[at].element.cmp(&element)).is_gt()
            });
            if better {
                best = Some((position, gain));
            }
        }
        let Some((position, gain)) = best else { break };
        let chosen = free.swap_remove(position).element as usize;
        current.add(objective, constraint, chosen, gain);
    }
    scratch.finish(objective, constraint)
}

/// `⌈(n/k)·ln(1/ε)⌉`, at least 1.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "n and k fit u32 or are clamped to n, so they are exact; float to integer saturates"
)]
fn sample_size(free: usize, count: usize, epsilon: f64) -> usize {
    let per_round = free as f64 / count.clamp(1, free.max(1)) as f64;
    ((per_round * -epsilon.ln()).ceil() as usize).max(1)
}
