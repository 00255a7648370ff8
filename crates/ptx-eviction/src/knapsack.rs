//! Byte budgets: greedy by gain per byte.

use crate::Error;
use crate::constraint::{Constraint, Room, as_u64};
use crate::greedy::{by_gain, fill_lazily};
use crate::lazy_queue::LazyQueue;
use crate::objective::{Objective, checked_gain};
use crate::scratch::{Free, Partial, Scratch, Selection};

/// Greedy by gain per byte, with the best single addition to every prefix of it, and greedy by gain, whichever
/// is worth most. The solver to use when bytes bind.
///
/// Density greedy alone can be arbitrarily bad: one small dense element may keep out a large one that is worth
/// nearly everything. The classic cure compares its result with the best single element, which gives
/// `½·(1 − 1/e) ≈ 0.316` (Khuller, Moss and Naor, *The budgeted maximum coverage problem*, 1999, for coverage;
/// Krause and Guestrin, *A note on the budgeted maximization of submodular functions*, 2005, for any monotone
/// submodular function; sharpened to 0.405 by Tang and others, *Revisiting modified greedy*, 2021). This solver
/// tries the best element on top of *every* prefix, the empty one included, and so contains the classic one.
///
/// # Guarantee
/// * A byte budget, with or without pinned elements: at least `1/2` of the optimum (`Greedy+Max`; Yaroslavtsev,
///   Zhou and Avdiukhin, *"Bring your own greedy"+max*, AISTATS 2020). The argument: let `o` be the largest
///   element of an optimal set `O` and `B` the budget. While the prefix `G` takes at most `B − size(o)`, all of
///   `O` fits singly. If `f(G + o) ≥ ½·f(O)` for one such `G`, the addition `o` does it. Otherwise the rest of
///   `O` gains more than `½·f(O)` over each such `G` and takes at most `B − size(o)`, so the density chosen is
///   above `½·f(O) / (B − size(o))` until the prefix has outgrown `B − size(o)`, and is then worth `½·f(O)`.
/// * A byte budget and a count `k`: at least `½·(1 − e^(−1/2)) ≈ 0.197`. An element is priced at its bytes plus
///   `B/k`, the bytes' share of one slot, so that a feasible set costs at most `2B` and the first element of `O`
///   that finds no room brings the cost of the selection with it to `B` or more. The classic argument then
///   gives `f(G) + f({v}) ≥ (1 − e^(−1/2))·f(O)` for that element `v`.
/// * A budget that does not bind, because everything fits, does not count: without the byte budget this is
///   [`lazy_greedy`](crate::lazy_greedy).
/// * A cap on groups together with a byte budget: all budgets are kept, no bound is claimed.
///
/// Ties in density go to the lower index. Fills up with what fits, worth something or not.
///
/// # Complexity
/// As [`lazy_greedy`](crate::lazy_greedy), three to four times over.
///
/// # Errors
/// As [`lazy_greedy`](crate::lazy_greedy).
pub fn density_greedy<'s, O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    scratch.pin(objective, constraint)?;
    scratch.list_free(constraint);
    search(objective, constraint, scratch)?;
    scratch.finish(objective, constraint)
}

/// Leaves the chosen set in `current`, after [`Scratch::list_free`].
pub(crate) fn search<O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    scratch: &mut Scratch<O::State>,
) -> Result<(), Error> {
    scratch.bound_gains(objective)?;
    let Scratch { base, current, best, free, queue, density_queue, prefix, .. } = scratch;

    queue.fill(free, base.room.count, by_gain);
    fill_lazily(objective, constraint, current, queue, by_gain)?;
    if !bytes_bind(constraint, &base.room, free) {
        return Ok(());
    }

    let slot_price = slot_price(&base.room, free);
    let density = |element: usize, gain: f64| density(constraint.size(element), slot_price, gain);
    std::mem::swap(best, current);
    current.copy_from(base);
    queue.rewind();
    density_queue.fill(free, base.room.count, density);
    let addition = fill_by_density(objective, constraint, current, density_queue, queue, density)?;
    prefix.clone_from(&current.chosen);
    if current.value > best.value {
        std::mem::swap(best, current);
    }

    if let Some(addition) = addition
        && addition.value > best.value
    {
        current.copy_from(base);
        let dense = prefix.get(base.chosen.len()..addition.prefix_len);
        for &element in dense.unwrap_or_default().iter().chain([&addition.element]) {
            let gain = checked_gain(objective, &current.state, element)?;
            current.add(objective, constraint, element, gain);
        }
        density_queue.rewind();
        fill_lazily(objective, constraint, current, density_queue, density)?;
    } else {
        std::mem::swap(best, current);
    }
    Ok(())
}

/// The best single element on top of a prefix of the density order.
#[derive(Debug, Clone, Copy)]
struct Addition {
    prefix_len: usize,
    element: usize,
    value: f64,
}

/// Fills `partial` by density, and finds the prefix and the element on top of it that are worth most together.
fn fill_by_density<O: Objective>(
    objective: &O,
    constraint: &Constraint<'_>,
    partial: &mut Partial<O::State>,
    densities: &mut LazyQueue,
    gains: &mut LazyQueue,
    density: impl Fn(usize, f64) -> f64,
) -> Result<Option<Addition>, Error> {
    let mut best: Option<Addition> = None;
    while let Some((element, gain)) = gains.pop(objective, constraint, partial, by_gain)? {
        gains.push(element, gain);
        let value = partial.value + gain;
        if best.is_none_or(|best| value > best.value) {
            best = Some(Addition { prefix_len: partial.chosen.len(), element, value });
        }
        let densest = densities.pop(objective, constraint, partial, &density)?;
        let Some((element, gain)) = densest else {
            break;
        };
        partial.add(objective, constraint, element, gain);
    }
    Ok(best)
}

/// Whether the free elements together exceed the bytes that are left.
pub(crate) fn bytes_bind(constraint: &Constraint<'_>, room: &Room, free: &[Free]) -> bool {
    let sizes = free.iter().map(|free| constraint.size(free.element as usize));
    constraint.limits_bytes() && sizes.fold(0, u64::saturating_add) > room.bytes
}

/// What one slot costs in bytes: an equal share of the bytes left where the count binds, else nothing.
fn slot_price(room: &Room, free: &[Free]) -> f64 {
    if free.len() > room.count {
        as_f64(room.bytes.max(1)) / as_f64(as_u64(room.count.max(1)))
    } else {
        0.0
    }
}

/// Gain for each byte of price. What takes no bytes is priced at next to nothing: it always fits, so it does
/// not matter when it comes.
pub(crate) fn density(bytes: u64, slot_price: f64, gain: f64) -> f64 {
    const NEXT_TO_NOTHING: f64 = 1e-18;
    gain / (as_f64(bytes) + slot_price).max(NEXT_TO_NOTHING)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "prices rank; rounding above 2^53 keeps their order"
)]
pub(crate) fn as_f64(bytes: u64) -> f64 {
    bytes as f64
}
