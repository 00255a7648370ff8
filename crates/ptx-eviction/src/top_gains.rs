//! The modular case under a count: selection instead of search.

use crate::Error;
use crate::objective::{Objective, checked_gain, checked_value};
use crate::scratch::{Scratch, Selection};

/// Keeps the pinned elements and those of the largest gains, ties going to the lower index, in O(n).
///
/// [`Scratch::pin`] has run, gains do not depend on the selection, and a count is the only constraint. The set
/// is the one that greedy would choose, and it is optimal.
pub(crate) fn select_top_gains<'s, O: Objective>(
    objective: &O,
    scratch: &'s mut Scratch<O::State>,
) -> Result<Selection<'s>, Error> {
    let Scratch { base, keys, kept, .. } = scratch;
    let count = objective.element_count();
    keys.clear();
    for element in 0..count {
        if !base.is_member(element) {
            keys.push(order_key(checked_gain(objective, &base.state, element)?));
        }
    }

    let wanted = base.room.count.min(keys.len());
    // An element stays if its key is above the threshold, or at it while slots for ties last.
    let (threshold, mut ties) = match wanted.checked_sub(1) {
        None => (u64::MAX, 0),
        Some(last) => {
            let (above, &mut threshold, _) =
                keys.select_nth_unstable_by(last, |left, right| right.cmp(left));
            let ties = 1 + above.iter().filter(|&&key| key == threshold).count();
            (threshold, ties)
        }
    };

    kept.clear();
    let mut value = 0.0;
    for element in 0..count {
        let gain = checked_gain(objective, &base.state, element)?;
        let key = order_key(gain);
        let stays = if base.is_member(element) || key > threshold {
            true
        } else if key == threshold && ties > 0 {
            ties -= 1;
            true
        } else {
            false
        };
        if stays {
            kept.push(element);
            value += gain;
        }
    }
    Ok(Selection { elements: kept, value: checked_value(value)?, bytes: 0 })
}

/// The bits of a float that is not negative, read as an integer, order as the floats do.
fn order_key(gain: f64) -> u64 {
    gain.to_bits()
}
