//! Which keys are requested, in which order, and what are their texts?

use std::sync::Arc;

use ptx_key::{Digest, PtxKey};

/// How requests are distributed over keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Popularity {
    Uniform,
    /// Zipf with exponent 1.
    Zipf,
}

pub(crate) struct Workload {
    pub(crate) keys: Vec<PtxKey>,
    pub(crate) absent: Vec<PtxKey>,
    pub(crate) texts: Vec<Arc<str>>,
    /// Positions in `keys`. The length is a power of two.
    pub(crate) order: Vec<u32>,
}

const ORDER: usize = 1 << 16;
const TEXT_BYTES: usize = 512;

pub(crate) fn key(number: u64) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

/// A text that no other number has. Its first byte is a space.
pub(crate) fn text(number: u64) -> Arc<str> {
    format!(" {number:>width$}", width = TEXT_BYTES - 1).into()
}

pub(crate) fn workload(entries: u32, popularity: Popularity) -> Workload {
    let all = 0..u64::from(entries);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let weights: Vec<f64> = (0..entries)
        .scan(0.0, |sum, rank| {
            *sum += match popularity {
                Popularity::Uniform => 1.0,
                Popularity::Zipf => 1.0 / f64::from(rank + 1),
            };
            Some(*sum)
        })
        .collect();
    let total = weights.last().copied().unwrap_or(1.0);
    let draw = |random: &mut Random| {
        let point = random.unit() * total;
        u32::try_from(weights.partition_point(|sum| *sum < point)).unwrap_or(0).min(entries - 1)
    };
    Workload {
        keys: all.clone().map(key).collect(),
        absent: all.clone().map(|number| key(number + (1 << 40))).collect(),
        texts: all.map(text).collect(),
        order: (0..ORDER).map(|_| draw(&mut random)).collect(),
    }
}

/// Marsaglia, *Xorshift RNGs*, 2003.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
