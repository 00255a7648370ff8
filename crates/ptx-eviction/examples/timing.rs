//! How long the solvers take, against plain greedy and against a sort of the same array.
//!
//! `cargo run --release -p ptx-eviction --example timing`
//!
//! Every row keeps half of `n` elements. The contenders of a row run in turns, round after round, and each
//! figure is the median over rounds, so that a busy moment of the machine hits all of them alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, Entry, Error, Modular, Retainer, Scratch, Size,
    density_greedy, lazy_greedy, plain_greedy,
};

/// Plain greedy is left out above this size: it would take minutes.
const LARGEST_PLAIN: usize = 2_048;

fn main() -> Result<(), Error> {
    println!(
        "{:>9} {:>22} {:>12} {:>10} {:>10} {:>10}",
        "n -> k", "solver", "median", "ns/element", "x sort", "x plain"
    );
    for (n, rounds) in [(512, 2_001), (2_048, 301), (65_536, 41), (1_000_000, 9)] {
        measure(&Column::new(n), rounds)?;
    }
    Ok(())
}

/// Entries as a cache would have them: skewed worths, sizes over three orders of magnitude, families of four.
struct Column {
    worths: Vec<f64>,
    sizes: Vec<u64>,
    families: Vec<u32>,
    entries: Vec<Entry>,
}

impl Column {
    fn new(n: usize) -> Self {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut draw = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed >> 40
        };
        let mut column = Self {
            worths: Vec::new(),
            sizes: Vec::new(),
            families: Vec::new(),
            entries: Vec::new(),
        };
        for family in (0..u32::MAX).flat_map(|family| [family; 4]).take(n) {
            #[expect(clippy::cast_precision_loss, reason = "the draw has 24 bits")]
            let worth = 1e7 / (1.0 + draw() as f64);
            let bytes = 1_024 << (draw() % 10);
            column.worths.push(worth);
            column.sizes.push(bytes);
            column.families.push(family);
            column.entries.push(Entry {
                worth,
                bytes,
                family: u64::from(family).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                pinned: false,
            });
        }
        column
    }
}

fn measure(column: &Column, rounds: usize) -> Result<(), Error> {
    let n = column.worths.len();
    let (k, bytes) = (n / 2, column.sizes.iter().sum::<u64>() / 2);
    let count = Constraint::new().at_most(k);
    let knapsack = Constraint::new().at_most(k).within_bytes(&column.sizes, bytes);
    let modular = Modular::new(&column.worths)?;
    let concave = ConcaveOverGroups::new(&column.worths, &column.families, Curve::SquareRoot)?;
    let budgets = Size { entries: k as u64, bytes };
    let mut retainer = Retainer::new(Curve::SquareRoot);
    let (mut plain, mut selected) = (Scratch::default(), Scratch::default());
    let (mut plain_concave, mut lazy, mut dense) =
        (Scratch::default(), Scratch::default(), Scratch::default());
    let mut order: Vec<usize> = Vec::with_capacity(n);

    let names = [
        "sort, take k",
        "modular, plain greedy",
        "modular, count",
        "concave, plain greedy",
        "concave, count",
        "concave, count + bytes",
        "Retainer",
    ];
    let mut samples: [Vec<Duration>; 7] = Default::default();
    for _ in 0..rounds {
        let mut columns = samples.iter_mut();
        let mut timed = |run: &mut dyn FnMut() -> Result<(), Error>| {
            let start = Instant::now();
            run()?;
            let elapsed = start.elapsed();
            if let Some(samples) = columns.next() {
                samples.push(elapsed);
            }
            Ok::<(), Error>(())
        };
        timed(&mut || {
            order.clear();
            order.extend(0..n);
            order.sort_unstable_by(|&left, &right| {
                let by_worth = column.worths[right].total_cmp(&column.worths[left]);
                by_worth.then(left.cmp(&right))
            });
            order.truncate(k);
            black_box(&order);
            Ok(())
        })?;
        timed(&mut || {
            if n <= LARGEST_PLAIN {
                black_box(plain_greedy(&modular, &count, &mut plain)?.value);
            }
            Ok(())
        })?;
        timed(&mut || {
            black_box(lazy_greedy(&modular, &count, &mut selected)?.value);
            Ok(())
        })?;
        timed(&mut || {
            if n <= LARGEST_PLAIN {
                black_box(plain_greedy(&concave, &count, &mut plain_concave)?.value);
            }
            Ok(())
        })?;
        timed(&mut || {
            black_box(lazy_greedy(&concave, &count, &mut lazy)?.value);
            Ok(())
        })?;
        timed(&mut || {
            black_box(density_greedy(&concave, &knapsack, &mut dense)?.value);
            Ok(())
        })?;
        timed(&mut || {
            black_box(retainer.retain(&column.entries, budgets)?.value);
            Ok(())
        })?;
    }

    let medians = samples.each_mut().map(|samples| {
        samples.sort_unstable();
        samples.get(samples.len() / 2).copied().unwrap_or_default()
    });
    for (position, name) in names.into_iter().enumerate() {
        let is_plain = name.ends_with("plain greedy");
        if is_plain && n > LARGEST_PLAIN {
            continue;
        }
        let median = medians[position].as_secs_f64();
        let plain = medians[if name.starts_with("modular") { 1 } else { 3 }].as_secs_f64();
        let against_plain = if n <= LARGEST_PLAIN && position > 0 {
            format!("{:.4}", median / plain)
        } else {
            "-".into()
        };
        #[expect(clippy::cast_precision_loss, reason = "n is below 2^53")]
        let per_element = median * 1e9 / n as f64;
        println!(
            "{:>9} {name:>22} {:>9.1} us {per_element:>10.1} {:>10.2} {against_plain:>10}",
            n,
            median * 1e6,
            median / medians[0].as_secs_f64(),
        );
    }
    Ok(())
}
