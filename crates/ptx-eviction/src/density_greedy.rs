//! A set that is provably close to the best, for many candidates.

use crate::lazy_queue::{LazyQueue, by_gain};
use crate::problem::{Problem, as_f64};
use crate::selection::{Candidate, Selection};
use crate::size::Size;

/// Greedy by gain for each byte, and the memory that it works in.
///
/// Greedy by density alone can be arbitrarily bad: one small dense entry may keep out a large one
/// that is worth nearly everything. So the search tries more, and the best result counts:
///
/// 1. Greedy by gain. If all candidates' bytes fit, this is the result.
/// 2. Greedy by density. For each prefix of its order, the empty one included, note the single
///    entry that adds most to it.
/// 3. The best of those prefixes with its entry, filled up by density.
///
/// # Guarantee
/// Shares of the optimum, with or without pinned entries. Pinned entries `P` leave a problem of the
/// same kind, `f(P ∪ S) − f(P)`, so a share that holds for the rest holds for the whole.
///
/// * Only the count binds: at least `1 − 1/e ≈ 0.632` (Nemhauser, Wolsey and Fisher, *An analysis of
///   approximations for maximizing submodular set functions I*, 1978, section 4).
/// * Only the bytes bind: at least `1/2` (`Greedy+Max`; Yaroslavtsev, Zhou and Avdiukhin, *"Bring
///   your own greedy"+max*, AISTATS 2020). The argument: let `o` be the largest entry of an optimal
///   set `O` and `B` the budget. While the prefix `G` takes at most `B − size(o)`, every entry of
///   `O` fits by itself. If `f(G + o) ≥ ½·f(O)` for one such `G`, step 3 finds it. Otherwise the
///   rest of `O` gains more than `½·f(O)` over each such `G` and takes at most `B − size(o)`, so
///   the density chosen exceeds `½·f(O) / (B − size(o))` until the prefix has outgrown
///   `B − size(o)`, and is then worth `½·f(O)`.
/// * The bytes and the count `k` bind: at least `½·(1 − e^(−1/2)) ≈ 0.197`. The price of an entry is
///   its bytes plus `B/k`, one slot's share of the bytes. A feasible set then costs at most `2B`, and
///   the first entry `v` of `O` that does not fit brings the cost of the selection with it to
///   `B` or more. The classic argument gives `f(G) + f({v}) ≥ (1 − e^(−1/2))·f(O)` for it.
///
/// Ties go to the lower position. What fits is added even if it gains nothing.
///
/// # Complexity
/// One sort for each of the two orders, then usually a few gains for each entry chosen; at worst
/// `O(n·k)` gains for `k` entries.
#[derive(Debug, Default)]
pub(crate) struct DensityGreedy {
    gains: LazyQueue,
    densities: LazyQueue,
    best: Selection,
    /// The entries in the order in which greedy by density chose them, pinned ones first.
    order: Vec<usize>,
}

/// The best single entry on top of a prefix of the density order.
#[derive(Debug, Clone, Copy)]
struct Addition {
    prefix_len: usize,
    entry: usize,
    value: f64,
}

impl DensityGreedy {
    /// Adds the set to `chosen`, which starts as a copy of `pinned`.
    pub(crate) fn search(
        &mut self,
        problem: &Problem,
        pinned: &Selection,
        candidates: &[Candidate],
        chosen: &mut Selection,
    ) {
        self.gains.fill(candidates, pinned.room.entries, by_gain);
        self.gains.add_all(problem, chosen, by_gain);
        if !pinned.bytes_bind(problem, candidates) {
            return;
        }

        let slot_price = slot_price(pinned.room, candidates.len());
        let density = |entry: usize, gain: f64| problem.density(entry, slot_price, gain);
        std::mem::swap(&mut self.best, chosen);
        chosen.copy_from(pinned);
        self.gains.rewind();
        self.densities.fill(candidates, pinned.room.entries, density);
        let addition = self.add_by_density(problem, chosen, density);
        self.order.clone_from(&chosen.chosen);
        if chosen.value > self.best.value {
            std::mem::swap(&mut self.best, chosen);
        }

        if let Some(addition) = addition
            && addition.value > self.best.value
        {
            chosen.copy_from(pinned);
            let prefix = self.order.get(pinned.chosen.len()..addition.prefix_len);
            for &entry in prefix.unwrap_or_default().iter().chain([&addition.entry]) {
                chosen.add(problem, entry, chosen.gain(problem, entry));
            }
            self.densities.rewind();
            self.densities.add_all(problem, chosen, density);
        } else {
            std::mem::swap(&mut self.best, chosen);
        }
    }

    /// Adds entries by density, and returns the most valuable addition to any prefix on the way.
    fn add_by_density(
        &mut self,
        problem: &Problem,
        selection: &mut Selection,
        density: impl Fn(usize, f64) -> f64,
    ) -> Option<Addition> {
        let mut best: Option<Addition> = None;
        while let Some((entry, gain)) = self.gains.pop(problem, selection, by_gain) {
            self.gains.push(entry, gain);
            let value = selection.value + gain;
            if best.is_none_or(|best| value > best.value) {
                best = Some(Addition { prefix_len: selection.chosen.len(), entry, value });
            }
            let Some((entry, gain)) = self.densities.pop(problem, selection, &density) else {
                break;
            };
            selection.add(problem, entry, gain);
        }
        best
    }
}

/// The bytes that one slot costs: an equal share of the room where the count binds, else nothing.
fn slot_price(room: Size, candidates: usize) -> f64 {
    if candidates as u64 > room.entries {
        as_f64(room.bytes.max(1)) / as_f64(room.entries.max(1))
    } else {
        0.0
    }
}
