//! What there is to choose from, and what a set of it is worth.

use std::collections::HashMap;

use crate::curve::Curve;
use crate::error::Error;

/// A cache entry as the choice sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// What it is worth to keep the entry: finite, not negative, in any unit that adds up. For a
    /// cache it is the expected uses times the cost of a miss.
    pub worth: f64,
    /// The bytes that the entry takes of the budget.
    pub bytes: u64,
    /// A number that the variants of one program share. They discount each other.
    ///
    /// Any number will do, for example the first bytes of a digest. Two families that share a
    /// number by chance are discounted as one; nothing else follows from it.
    pub family: u64,
    /// The entry is in use and stays, regardless of its worth.
    pub pinned: bool,
}

/// The entries of one choice as columns, and the value of sets of them.
///
/// The value of a set is `Σ s · φ(w / s)` over families, where `w` is the worth that the set has of
/// the family, `s` the worth of the family's most valuable entry and `φ` the curve. An entry without
/// variants therefore counts `φ(1)` times its worth, and only variants are discounted.
///
/// Sums of concave functions of sums are monotone and submodular (Lin and Bilmes, *A class of
/// submodular functions for document summarization*, ACL 2011, section 4): an entry never gains
/// less than nothing, and never gains more over a larger set.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    curve: Curve,
    family_ids: HashMap<u64, u32, ahash::RandomState>,
    worths: Vec<f64>,
    sizes: Vec<u64>,
    /// The id of each entry's family. Ids count up in order of appearance.
    families: Vec<u32>,
    /// The largest worth in each family.
    scales: Vec<f64>,
    pinned: Vec<usize>,
    /// How often a gain was computed.
    #[cfg(test)]
    pub(crate) gains: std::cell::Cell<usize>,
}

impl Problem {
    pub(crate) fn new(curve: Curve) -> Self {
        Self { curve, ..Self::default() }
    }

    /// Replaces the entries and keeps the memory.
    pub(crate) fn read(&mut self, entries: &[Entry]) -> Result<(), Error> {
        if let Curve::Saturating { at } = self.curve
            && !(0.0..f64::INFINITY).contains(&at)
        {
            return Err(Error::Curve { at });
        }
        if u32::try_from(entries.len()).is_err() {
            return Err(Error::TooManyEntries { count: entries.len() });
        }
        self.family_ids.clear();
        self.worths.clear();
        self.sizes.clear();
        self.families.clear();
        self.scales.clear();
        self.pinned.clear();
        let mut total = 0.0;
        let mut next_id = 0_u32;
        for (position, &Entry { worth, bytes, family, pinned }) in entries.iter().enumerate() {
            if !(0.0..f64::INFINITY).contains(&worth) {
                return Err(Error::Worth { entry: position, worth });
            }
            total += worth;
            let id = *self.family_ids.entry(family).or_insert_with(|| {
                let new = next_id;
                next_id += 1;
                new
            });
            match self.scales.get_mut(id as usize) {
                Some(largest) => *largest = largest.max(worth),
                None => self.scales.push(worth),
            }
            self.worths.push(worth);
            self.sizes.push(bytes);
            self.families.push(id);
            if pinned {
                self.pinned.push(position);
            }
        }
        if total.is_finite() { Ok(()) } else { Err(Error::Overflow) }
    }

    pub(crate) fn entry_count(&self) -> usize {
        self.worths.len()
    }

    pub(crate) fn family_count(&self) -> usize {
        self.scales.len()
    }

    pub(crate) fn family(&self, entry: usize) -> usize {
        self.families[entry] as usize
    }

    pub(crate) fn worth(&self, entry: usize) -> f64 {
        self.worths[entry]
    }

    pub(crate) fn bytes(&self, entry: usize) -> u64 {
        self.sizes[entry]
    }

    /// The positions of the pinned entries, ascending.
    pub(crate) fn pinned(&self) -> &[usize] {
        &self.pinned
    }

    /// Returns true if no gain depends on what else is chosen.
    pub(crate) fn is_modular(&self) -> bool {
        self.family_count() == self.entry_count()
    }

    /// What `entry` adds to a set that has `kept` worth of the entry's family.
    #[inline]
    pub(crate) fn gain(&self, kept: f64, entry: usize) -> f64 {
        #[cfg(test)]
        self.gains.set(self.gains.get() + 1);
        self.curve.gain(kept, self.worths[entry], self.scales[self.family(entry)])
    }

    /// The gain of `entry` for each byte of its price: its bytes and the price of a slot.
    ///
    /// An entry of no price costs next to nothing instead. It always fits, so when it is chosen
    /// does not matter.
    pub(crate) fn density(&self, entry: usize, slot_price: f64, gain: f64) -> f64 {
        const NEXT_TO_NOTHING: f64 = 1e-18;
        gain / (as_f64(self.sizes[entry]) + slot_price).max(NEXT_TO_NOTHING)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "prices rank; rounding above 2^53 keeps their order"
)]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}
