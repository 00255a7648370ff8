//! How fast is the memory cache, and how fast are its peers? `cargo xtask bench memory`.
//!
//! Latency: each key depends on the text that the hit before it found. Throughput: keys are known in
//! advance and hits may overlap. The argument `quick` runs fewer and shorter rounds. Any other
//! argument selects the situations whose names contain it, such as `"HitLatency, 512"`.

mod contenders;
mod flight;
mod instructions;
mod workload;

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use ptx_bench::{Cell, Report, in_turn};
use ptx_key::{KeyHasher, PtxKey};

use contenders::{
    Contender, Floor, FloorBorrowed, OursBorrowed, OursOwned, OursPinned, Papaya, Scc, Usual, moka,
    ours, quick,
};
use workload::{Popularity, Workload, key, text, workload};

/// What each thread does in a round.
#[derive(Clone, Copy, Debug)]
enum Operation {
    HitLatency,
    HitThroughput,
    Miss,
    /// Ninety-nine hits for each insertion of a resident key.
    Mixed,
    /// Insertions of resident keys: each replaces itself.
    Insert,
}

const OPERATIONS: [Operation; 5] = [
    Operation::HitLatency,
    Operation::HitThroughput,
    Operation::Miss,
    Operation::Mixed,
    Operation::Insert,
];

struct Settings {
    steps: usize,
    rounds: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [argument, way, count] = arguments.as_slice()
        && argument == instructions::ARGUMENT
    {
        instructions::hits_alone(way, count.parse()?);
        return Ok(());
    }
    let quick = arguments.iter().any(|argument| argument == "quick");
    let wanted: Vec<&String> = arguments
        .iter()
        .filter(|argument| *argument != "quick" && *argument != "--bench")
        .collect();
    let is_wanted = |situation: &str| {
        wanted.is_empty() || wanted.iter().any(|part| situation.contains(part.as_str()))
    };
    let settings = if quick {
        Settings { steps: 50_000, rounds: 7 }
    } else {
        Settings { steps: 200_000, rounds: 25 }
    };
    let cores = thread::available_parallelism()?.get();
    // A report of some situations does not overwrite the report of all.
    let mut report = Report::new(if wanted.is_empty() { "memory" } else { "memory-part" }, "ns");
    if is_wanted("instructions") {
        instructions::report(&mut report);
    }
    for entries in [512_u32, 16_384] {
        for popularity in [Popularity::Uniform, Popularity::Zipf] {
            let workload = workload(entries, popularity);
            let contenders = filled(&workload);
            let mut threads = vec![1, 2];
            threads.extend((cores > 2).then_some(cores));
            for threads in threads {
                for operation in OPERATIONS {
                    let situation =
                        format!("{operation:?}, {entries} {popularity:?}, {threads} threads");
                    if !is_wanted(&situation) {
                        continue;
                    }
                    let cell =
                        measure(&situation, &contenders, &workload, operation, threads, &settings);
                    print!("{}", report.add(cell));
                }
            }
        }
    }
    for threads in [1, 2] {
        let situation = format!("Churn, 4096 of capacity, {threads} threads");
        if is_wanted(&situation) {
            print!("{}", report.add(churn(&situation, threads, &settings)));
        }
    }
    if is_wanted("single flight") {
        flight::report(&mut report, settings.rounds);
    }
    for entries in [512_u32, 16_384] {
        let cache = ours(entries as usize * 2);
        (0..u64::from(entries)).for_each(|number| {
            cache.insert(key(number), ptx_cache::Computed::from(text(number)));
        });
        let bytes = cache.snapshot().index_bytes;
        let tenths = bytes * 10 / u64::from(entries);
        report.note(format!("index bytes an entry at {entries}: {}.{}", tenths / 10, tenths % 10));
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    for path in report.write(&target)? {
        println!("wrote {}", path.canonicalize()?.display());
    }
    Ok(())
}

type Named = (&'static str, Box<dyn Measured>);

/// A contender whose loops are compiled for it: dynamic dispatch costs one call a round.
trait Measured: Sync {
    fn fill(&self, workload: &Workload);
    fn run(&self, workload: &Workload, operation: Operation, start: usize, steps: usize) -> f64;
    fn churn(&self, from: u64, steps: usize) -> f64;
}

impl<C: Contender> Measured for C {
    fn fill(&self, workload: &Workload) {
        for (key, text) in workload.keys.iter().zip(&workload.texts) {
            self.insert(*key, text.clone());
        }
    }

    fn run(&self, workload: &Workload, operation: Operation, start: usize, steps: usize) -> f64 {
        let mask = workload.order.len() - 1;
        let hit = self.session();
        let at =
            |keys: &[PtxKey], step: usize| keys[workload.order[(start + step) & mask] as usize];
        let began = Instant::now();
        match operation {
            Operation::HitLatency => {
                let mut shift = 0_usize;
                for step in 0..steps {
                    let first = hit(&at(&workload.keys, step + shift)).unwrap_or(b' ');
                    // Always zero, but only the text tells.
                    shift = usize::from(first - b' ');
                }
                black_box(shift);
            }
            Operation::HitThroughput => {
                for step in 0..steps {
                    black_box(hit(&at(&workload.keys, step)));
                }
            }
            Operation::Miss => {
                for step in 0..steps {
                    black_box(hit(&at(&workload.absent, step)));
                }
            }
            Operation::Mixed => {
                for step in 0..steps {
                    if step % 100 == 99 {
                        let entry = workload.order[(start + step) & mask] as usize;
                        self.insert(workload.keys[entry], workload.texts[entry].clone());
                    } else {
                        black_box(hit(&at(&workload.keys, step)));
                    }
                }
            }
            Operation::Insert => {
                for step in 0..steps {
                    let entry = workload.order[(start + step) & mask] as usize;
                    self.insert(workload.keys[entry], workload.texts[entry].clone());
                }
            }
        }
        nanos_each(began, steps)
    }

    fn churn(&self, from: u64, steps: usize) -> f64 {
        let fresh: Vec<_> = (0..steps as u64).map(|step| (key(from + step), text(step))).collect();
        let began = Instant::now();
        for (key, text) in fresh {
            if self.hit(&key).is_none() {
                self.insert(key, text);
            }
        }
        nanos_each(began, steps)
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures of a bench need few digits")]
fn nanos_each(began: Instant, steps: usize) -> f64 {
    began.elapsed().as_nanos() as f64 / steps as f64
}

fn bounded(capacity: usize) -> Vec<Named> {
    vec![
        ("usual design", Box::new(Usual::new(capacity))),
        ("ours, owned", Box::new(OursOwned(ours(capacity)))),
        ("ours, borrowed", Box::new(OursBorrowed(ours(capacity)))),
        ("moka", Box::new(moka(capacity))),
        ("quick_cache", Box::new(quick(capacity))),
    ]
}

fn filled(workload: &Workload) -> Vec<Named> {
    // With twice the capacity no contender evicts.
    let mut all = bounded(workload.keys.len() * 2);
    all.push(("papaya", Box::new(Papaya(papaya::HashMap::with_hasher(KeyHasher::default())))));
    all.push(("scc HashIndex", Box::new(Scc(scc::HashIndex::with_hasher(KeyHasher::default())))));
    let floor: HashMap<_, _, _> =
        workload.keys.iter().copied().zip(workload.texts.iter().cloned()).collect();
    all.push(("ours, pinned", Box::new(OursPinned(ours(workload.keys.len() * 2)))));
    all.push(("floor, borrowed", Box::new(FloorBorrowed(floor.clone()))));
    all.push(("floor: HashMap", Box::new(Floor(floor))));
    for (_, contender) in &all {
        contender.fill(workload);
    }
    all
}

fn on_threads(threads: usize, run: impl Fn(usize) -> f64 + Sync) -> f64 {
    let all_here = Barrier::new(threads);
    let total: f64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (run, all_here) = (&run, &all_here);
                scope.spawn(move || {
                    all_here.wait();
                    run(thread)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(f64::NAN)).sum()
    });
    #[expect(clippy::cast_precision_loss, reason = "few threads")]
    let count = threads as f64;
    total / count
}

fn measure(
    situation: &str,
    contenders: &[Named],
    workload: &Workload,
    operation: Operation,
    threads: usize,
    settings: &Settings,
) -> Cell {
    // The floors are read-only, and a pinned thread that writes frees nothing.
    let writes = matches!(operation, Operation::Mixed | Operation::Insert);
    let skipped = if writes { 3 } else { 0 };
    let contenders = &contenders[..contenders.len() - skipped];
    let spreads = in_turn(contenders.len(), settings.rounds, |contender| {
        on_threads(threads, |thread| {
            contenders[contender].1.run(workload, operation, thread * 7_919, settings.steps)
        })
    });
    cell(situation, contenders, spreads)
}

/// Measures requests that miss and insert into a full cache.
fn churn(situation: &str, threads: usize, settings: &Settings) -> Cell {
    let contenders = bounded(4_096);
    let mut next = 0;
    let steps = settings.steps / 10;
    let spreads = in_turn(contenders.len(), settings.rounds, |contender| {
        next += 1 << 24;
        on_threads(threads, |thread| {
            contenders[contender].1.churn(next + ((thread as u64) << 20), steps)
        })
    });
    cell(situation, &contenders, spreads)
}

fn cell(situation: &str, contenders: &[Named], spreads: Vec<ptx_bench::Spread>) -> Cell {
    let names = contenders.iter().map(|(name, _)| (*name).to_owned());
    Cell { situation: situation.to_owned(), figures: names.zip(spreads).collect() }
}
