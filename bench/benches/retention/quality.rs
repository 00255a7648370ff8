//! What does every policy pay on every trace, and how far is ours from the best?

use std::error::Error;
use std::path::Path;

use ptx_bench::{Cell, Report, Spread};
use ptx_cache::Size;
use ptx_tests::Corpus;
use serde_json::{Value, json};

use crate::replay::{NAMES, Outcome, replay};
use crate::traces::{Trace, real, synthetic};

const PERCENTS: [u64; 3] = [10, 25, 50];

/// One trace under one cap.
struct Situation<'t> {
    trace: &'t Trace,
    cap: &'static str,
    has_tier: bool,
    /// For each percentage, the outcome of each of [`NAMES`].
    outcomes: Vec<Vec<Outcome>>,
}

pub(crate) fn report(is_quick: bool, target: &Path) -> Result<(), Box<dyn Error>> {
    let real = Corpus::find().map(|corpus| real(&corpus)).transpose()?.unwrap_or_default();
    let synthetic = if is_quick { Vec::new() } else { synthetic() };
    let mut rows = Vec::new();
    let mut chart = Report::new("retention", "s");
    for (title, traces) in [("launches of the corpus", &real), ("synthetic", &synthetic)] {
        for has_tier in [false, true] {
            for cap in ["bytes", "entries"] {
                if traces.is_empty() {
                    continue;
                }
                let paid = if has_tier {
                    "milliseconds of loading paid, with a lower tier"
                } else {
                    "seconds of lowering paid"
                };
                println!("\n{paid}, {title}, 10 / 25 / 50 % of {cap}");
                let situations: Vec<Situation<'_>> =
                    traces.iter().map(|trace| situation(trace, cap, has_tier)).collect();
                for situation in &situations {
                    print(situation);
                    rows.extend(values(situation));
                    if cap == "bytes" && !has_tier {
                        draw(situation, &mut chart);
                    }
                }
                summarise(&situations);
            }
        }
    }
    let path = target.join("retention-quality.json");
    std::fs::write(&path, serde_json::to_string_pretty(&json!({ "replays": rows }))?)?;
    println!("\nwrote {}", path.canonicalize()?.display());
    for path in chart.write(target)? {
        println!("wrote {}", path.canonicalize()?.display());
    }
    Ok(())
}

fn situation<'t>(trace: &'t Trace, cap: &'static str, has_tier: bool) -> Situation<'t> {
    let bytes: u64 = trace.objects.iter().map(|object| object.bytes).sum();
    let entries = trace.objects.len() as u64;
    let outcomes = PERCENTS.map(|percent| {
        let budget = match cap {
            "bytes" => Size { bytes: bytes * percent / 100, ..Size::UNBOUNDED },
            _ => Size { entries: entries * percent / 100, ..Size::UNBOUNDED },
        };
        let outcome = |name| replay(name, budget, trace, has_tier).unwrap_or_default();
        NAMES.iter().map(|name| outcome(name)).collect()
    });
    Situation { trace, cap, has_tier, outcomes: outcomes.into() }
}

fn print(situation: &Situation<'_>) {
    println!("  {}", situation.trace.name);
    for (policy, name) in NAMES.iter().enumerate() {
        let column = |of: fn(&Outcome) -> f64, digits: usize| {
            let figures: Vec<String> = situation
                .outcomes
                .iter()
                .map(|outcomes| format!("{:>7.digits$}", of(&outcomes[policy])))
                .collect();
            figures.join(" /")
        };
        println!(
            "    {name:<12} {}   objects hit {}   bytes hit {}",
            column(
                if situation.has_tier {
                    |outcome| outcome.loading * 1e3
                } else {
                    |outcome| outcome.seconds
                },
                1
            ),
            column(|outcome| outcome.object_hit_ratio, 3),
            column(|outcome| outcome.byte_hit_ratio, 3),
        );
    }
}

/// Prints how ours compares to the best online policy, and where it is between GDSF and the offline
/// bound.
fn summarise(situations: &[Situation<'_>]) {
    let offline = NAMES.len() - 1;
    let gdsf = NAMES.iter().position(|name| *name == "GDSF").unwrap_or(offline);
    let (mut cells, mut best_cells, mut best_traces) = (0, 0, 0);
    let (mut ours_sum, mut gdsf_sum, mut offline_sum) = (0.0, 0.0, 0.0);
    for situation in situations {
        // With a lower tier every policy pays each lowering once: only the loading differs.
        let has_tier = situation.has_tier;
        let paid = |outcome: &Outcome| if has_tier { outcome.loading } else { outcome.seconds };
        let (mut ours_on_trace, mut peers_on_trace) = (0.0, vec![0.0; offline - 1]);
        for (outcomes, percent) in situation.outcomes.iter().zip(PERCENTS) {
            let ours = paid(&outcomes[0]);
            let peers = || outcomes[1..offline].iter().map(paid);
            let best = peers().fold(f64::INFINITY, f64::min);
            cells += 1;
            if ours <= best * 1.001 {
                best_cells += 1;
            } else {
                let more = 100.0 * (ours / best - 1.0);
                let name = situation.trace.name;
                println!("  not least: {name}, {percent} %: {more:.1} % over the best");
            }
            ours_on_trace += ours;
            peers_on_trace.iter_mut().zip(peers()).for_each(|(sum, seconds)| *sum += seconds);
            ours_sum += ours;
            gdsf_sum += paid(&outcomes[gdsf]);
            offline_sum += paid(&outcomes[offline]);
        }
        best_traces += i32::from(peers_on_trace.iter().all(|&peer| ours_on_trace <= peer * 1.001));
    }
    let closed = 100.0 * (gdsf_sum - ours_sum) / (gdsf_sum - offline_sum);
    println!(
        "  least in {best_cells} of {cells} cells and on {best_traces} of {} traces; {closed:.0} % of \
         the way from GDSF to the offline bound",
        situations.len(),
    );
}

fn values(situation: &Situation<'_>) -> Vec<Value> {
    let mut rows = Vec::new();
    for (outcomes, percent) in situation.outcomes.iter().zip(PERCENTS) {
        for (name, outcome) in NAMES.iter().zip(outcomes) {
            rows.push(json!({
                "trace": situation.trace.name,
                "cap": situation.cap,
                "percent": percent,
                "lower_tier": situation.has_tier,
                "policy": name,
                "seconds": outcome.seconds,
                "seconds_of_loading": outcome.loading,
                "object_hit_ratio": outcome.object_hit_ratio,
                "byte_hit_ratio": outcome.byte_hit_ratio,
            }));
        }
    }
    rows
}

fn draw(situation: &Situation<'_>, chart: &mut Report) {
    for (outcomes, percent) in situation.outcomes.iter().zip(PERCENTS) {
        let figures = NAMES
            .iter()
            .zip(outcomes)
            .map(|(name, outcome)| ((*name).to_owned(), Spread::of(vec![outcome.seconds])));
        let _ = chart.add(Cell {
            situation: format!("{}, {percent} % of bytes", situation.trace.name),
            figures: figures.collect(),
        });
    }
}
