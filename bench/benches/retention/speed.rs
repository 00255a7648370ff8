//! How long does it take to select half of `n` elements? Against plain greedy and a sort.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use fastrand::Rng;
use ptx_bench::{Cell, Report, in_turn};
use ptx_eviction::{
    ConcaveOverGroups, Constraint, Curve, Modular, Scratch, density_greedy, lazy_greedy,
    plain_greedy, stochastic_greedy,
};

/// The largest size for plain greedy. Above it, plain greedy takes minutes.
const LARGEST_PLAIN: usize = 2_048;

const NAMES: [&str; 6] = [
    "sort, take half",
    "modular, count",
    "families, count",
    "families, count, bytes",
    "families, stochastic",
    "families, plain greedy",
];

pub(crate) fn report(is_quick: bool, target: &Path) -> Result<(), Box<dyn Error>> {
    let mut report = Report::new("retention-speed", "us");
    for (n, rounds) in [(512, 501), (2_048, 41), (65_536, 15), (1_000_000, 3)] {
        if is_quick && n > LARGEST_PLAIN {
            continue;
        }
        print!("{}", report.add(measure(n, rounds)?));
    }
    for path in report.write(target)? {
        println!("wrote {}", path.canonicalize()?.display());
    }
    Ok(())
}

fn measure(n: usize, rounds: usize) -> Result<Cell, Box<dyn Error>> {
    let mut random = Rng::with_seed(n as u64);
    let worths: Vec<f64> = (0..n).map(|_| 1.0 / (1e-6 + random.f64())).collect();
    let sizes: Vec<u64> = (0..n).map(|_| 1_024 << random.u32(..10)).collect();
    let families: Vec<u32> = (0..n as u32).map(|element| element / 4).collect();
    let count = Constraint::new().at_most(n / 2);
    let both = count.within_bytes(&sizes, sizes.iter().sum::<u64>() / 2);
    let modular = Modular::new(&worths)?;
    let concave = ConcaveOverGroups::new(&worths, &families, Curve::SquareRoot)?;
    let mut order: Vec<usize> = Vec::with_capacity(n);
    let (mut flat, mut grouped) = (Scratch::default(), Scratch::default());

    let contenders = if n > LARGEST_PLAIN { NAMES.len() - 1 } else { NAMES.len() };
    let spreads = in_turn(contenders, rounds, |contender| {
        let began = Instant::now();
        let chosen = match contender {
            0 => {
                order.clear();
                order.extend(0..n);
                let by_worth =
                    |a: &usize, b: &usize| worths[*b].total_cmp(&worths[*a]).then(a.cmp(b));
                order.sort_unstable_by(by_worth);
                order.truncate(n / 2);
                Ok(order.len())
            }
            1 => lazy_greedy(&modular, &count, &mut flat).map(|kept| kept.elements.len()),
            2 => lazy_greedy(&concave, &count, &mut grouped).map(|kept| kept.elements.len()),
            3 => density_greedy(&concave, &both, &mut grouped).map(|kept| kept.elements.len()),
            4 => stochastic_greedy(&concave, &count, 0.1, 1, &mut grouped)
                .map(|kept| kept.elements.len()),
            _ => plain_greedy(&concave, &count, &mut grouped).map(|kept| kept.elements.len()),
        };
        // A solver that fails has no figure, and the chart shows that.
        black_box(chosen).map_or(f64::NAN, |_| began.elapsed().as_secs_f64() * 1e6)
    });
    let names = NAMES.iter().map(|name| (*name).to_owned());
    Ok(Cell { situation: format!("{n} to {}", n / 2), figures: names.zip(spreads).collect() })
}
