//! How long a choice of half of `n` entries takes, against plain greedy and a sort of the same array.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use fastrand::Rng;
use ptx_bench::{Cell, Report, in_turn};
use ptx_eviction::{Curve, Entry, Retainer, Size};

/// Plain greedy is left out above this size: it would take minutes.
const LARGEST_PLAIN: usize = 2_048;

const VARIANTS: usize = 4;

const NAMES: [&str; 5] = [
    "sort, take half",
    "no variants, count",
    "families, count",
    "families, count, bytes",
    "families, plain greedy",
];

pub(crate) fn report(is_quick: bool, target: &Path) -> Result<(), Box<dyn Error>> {
    let mut report = Report::new("retention-speed", "us");
    for (n, rounds) in [(14, 2_001), (512, 501), (2_048, 41), (65_536, 15), (1_000_000, 3)] {
        if is_quick && n > LARGEST_PLAIN {
            continue;
        }
        print!("{}", report.add(measure(n, rounds)));
    }
    for path in report.write(target)? {
        println!("wrote {}", path.canonicalize()?.display());
    }
    Ok(())
}

fn measure(n: usize, rounds: usize) -> Cell {
    let mut random = Rng::with_seed(n as u64);
    let entry = |position: usize| Entry {
        worth: 1.0 / (1e-6 + random.f64()),
        bytes: 1_024 << random.u32(..10),
        // Numbers far apart, as those of digests are.
        family: (position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        pinned: false,
    };
    let singles: Vec<Entry> = (0..n).map(entry).collect();
    let in_family = |(position, single): (usize, &Entry)| {
        let first = position / VARIANTS * VARIANTS;
        Entry { family: singles[first].family, ..*single }
    };
    let families: Vec<Entry> = singles.iter().enumerate().map(in_family).collect();
    let count = Size { entries: n as u64 / 2, ..Size::UNBOUNDED };
    let both = Size { bytes: singles.iter().map(|entry| entry.bytes).sum::<u64>() / 2, ..count };
    let mut order: Vec<usize> = Vec::with_capacity(n);
    let mut retainer = Retainer::new(Curve::SquareRoot);

    let contenders = if n > LARGEST_PLAIN { NAMES.len() - 1 } else { NAMES.len() };
    let spreads = in_turn(contenders, rounds, |contender| {
        let began = Instant::now();
        let mut choose =
            |entries, budget| retainer.retain(entries, budget).map(|kept| kept.entries.len());
        let chosen = match contender {
            0 => {
                order.clear();
                order.extend(0..n);
                order.sort_unstable_by(|&a, &b| {
                    singles[b].worth.total_cmp(&singles[a].worth).then(a.cmp(&b))
                });
                order.truncate(n / 2);
                Ok(order.len())
            }
            1 => choose(&singles, count),
            2 => choose(&families, count),
            3 => choose(&families, both),
            _ => Ok(plain_greedy(&families, n / 2).len()),
        };
        // NaN is not a figure: the chart shows that the retainer refused.
        black_box(chosen).map_or(f64::NAN, |_| began.elapsed().as_secs_f64() * 1e6)
    });
    let names = NAMES.iter().map(|name| (*name).to_owned());
    Cell { situation: format!("{n} to {}", n / 2), figures: names.zip(spreads).collect() }
}

/// The textbook algorithm: computes the gain of every remaining entry in every round. Its value is
/// that of [`Curve::SquareRoot`], and families are neighbours.
fn plain_greedy(entries: &[Entry], count: usize) -> Vec<usize> {
    let largest = |family: &[Entry]| family.iter().map(|one| one.worth).fold(0.0, f64::max);
    let scales: Vec<f64> = entries.chunks(VARIANTS).map(largest).collect();
    let mut kept = vec![0.0_f64; scales.len()];
    let mut rest: Vec<usize> = (0..entries.len()).collect();
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count {
        let gain = |position: usize| {
            let (worth, kept) = (entries[position].worth, kept[position / VARIANTS]);
            scales[position / VARIANTS].sqrt() * (worth / ((kept + worth).sqrt() + kept.sqrt()))
        };
        let gains = rest.iter().enumerate().map(|(at, &position)| (gain(position), at));
        let Some((_, at)) = gains.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        let position = rest.swap_remove(at);
        kept[position / VARIANTS] += entries[position].worth;
        chosen.push(position);
    }
    chosen
}
