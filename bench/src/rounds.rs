//! How do contenders take turns, and what is a contender's figure?

/// The median of many rounds and the quartiles around it.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// A quarter of the rounds is below this.
    pub lower: f64,
    /// Half of the rounds is below this.
    pub median: f64,
    /// A quarter of the rounds is above this.
    pub upper: f64,
}

impl Spread {
    /// Computes the spread of `samples`. Without samples it is zero.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            samples.get((samples.len().saturating_sub(1)) * quarter / 4).copied().unwrap_or(0.0)
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }

    /// Returns true if the ranges between the quartiles do not overlap.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.upper < other.lower || other.upper < self.lower
    }
}

/// Runs every contender once a round and returns each contender's spread. Each round starts with
/// another contender. One more round comes first, as a warm-up that does not count.
pub fn in_turn(contenders: usize, rounds: usize, mut run: impl FnMut(usize) -> f64) -> Vec<Spread> {
    let mut samples = vec![Vec::with_capacity(rounds); contenders];
    for round in 0..=rounds {
        for step in 0..contenders {
            let contender = (round + step) % contenders;
            let sample = run(contender);
            if round > 0 {
                samples[contender].push(sample);
            }
        }
    }
    samples.into_iter().map(Spread::of).collect()
}
