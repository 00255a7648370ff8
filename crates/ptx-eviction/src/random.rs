//! The one source of randomness: what it yields is decided by the seed alone, on every platform and in every
//! release.

/// `SplitMix64` (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0 when `bound` is 0. The bias of multiply-and-shift is below `bound / 2⁶⁴`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * bound as u128;
        // The high half is below `bound`, which is a usize.
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn yields_the_published_sequence() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn stays_below_its_bound() {
        let mut random = SplitMix64::new(1);
        assert!((0..1_000).all(|bound| bound == 0 || random.below(bound) < bound));
        assert_eq!(random.below(0), 0);
    }
}
