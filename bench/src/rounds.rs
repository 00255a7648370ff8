//! Rounds in turn.

/// A median of many rounds, with the middle half around it.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// A quarter of the rounds lie below.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// A quarter of the rounds lie above.
    pub upper: f64,
}

impl Spread {
    /// The spread of `samples`; zeros where there is none.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            samples.get((samples.len().saturating_sub(1)) * quarter / 4).copied().unwrap_or(0.0)
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }

    /// Whether the middle halves of the two do not touch.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.upper < other.lower || other.upper < self.lower
    }
}

/// Runs every contender once a round, each round beginning with the next one, and gives each
/// contender's spread. A round before the first warms up and is not counted.
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
