//! How long does it take until a function of each corpus file can be launched? `cargo xtask bench
//! modules`, on a machine with a GPU.
//!
//! The stages: the driver assembles, our cache assembles, the driver's cache has it, our store has
//! the cubin, our memory has the module. The floor loads cubins that are in memory.
//!
//! Each stage runs in a separate process, because the driver reads its settings once. `cargo xtask
//! gpu-bundle` builds this bench for a machine without Rust, into `.gpu/`. The argument `quick`
//! leaves out eager loading, and cold assembly on one thread.

#![allow(clippy::cast_precision_loss, reason = "figures of a bench need few digits")]

mod stages;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use ptx_bench::{Cell, Report, Spread};
use serde_json::Value;

use stages::Stage;

const ROUNDS: usize = 5;
const THREADS: [usize; 2] = [1, 8];

/// The figures of one stage, from its process.
#[derive(Debug)]
struct Measured {
    /// Milliseconds from the first request to the last answer.
    wall: f64,
    /// Milliseconds of load and look-up of the median file.
    median: f64,
    longest: f64,
    /// Nanoseconds of a look-up in memory, if the stage has one.
    memory_warm: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, stage, threads, directory] = arguments.as_slice()
        && flag == "--stage"
    {
        return stages::run(stage.parse()?, threads.parse()?, Path::new(directory));
    }
    let quick = arguments.iter().any(|argument| argument == "quick");
    let directory = tempfile::tempdir()?;
    let (driver_cache, ours) = (directory.path().join("driver"), directory.path().join("ours"));
    std::fs::create_dir_all(&driver_cache)?;

    let mut report = Report::new("modules", "ms");
    for loading in if quick { &["LAZY"][..] } else { &["LAZY", "EAGER"] } {
        let process = |stage: Stage, threads: usize| {
            let store = if stage == Stage::DriverCache { &driver_cache } else { &ours };
            measure(stage, threads, loading, store)
        };
        // The loading mode does not change what our cache assembles.
        let ours_too = *loading == "LAZY";
        let mut cold = BTreeMap::new();
        for threads in THREADS.into_iter().filter(|&threads| threads > 1 || !quick) {
            for stage in [Stage::Cold, Stage::Assembled] {
                if stage == Stage::Cold || ours_too {
                    let measured = process(stage, threads)?;
                    let name = format!("{loading}, {}, {threads} threads", stage.name());
                    report.note(line(&name, &measured));
                    cold.insert((stage.name(), threads), measured.wall);
                }
            }
        }
        for stage in [Stage::Cold, Stage::Assembled].map(Stage::name) {
            if let (Some(one), Some(eight)) = (cold.get(&(stage, 1)), cold.get(&(stage, 8))) {
                let ratio = one / eight;
                report.note(format!("{loading}, {stage}: ×{ratio:.2} faster with 8 threads"));
            }
        }
        // These processes fill the caches for the later ones.
        if ours_too {
            let filling = process(Stage::DriverCache, 8)?;
            report
                .note(format!("the driver filled its cache in {:.0} ms, 8 threads", filling.wall));
            let filling = process(Stage::Cubins, 8)?;
            report.note(format!(
                "ours assembled and stored all in {:.0} ms, 8 threads",
                filling.wall
            ));
        }
        for threads in THREADS {
            let warm = [Stage::Floor, Stage::DriverCache, Stage::Cubins];
            let mut walls = vec![Vec::new(); warm.len()];
            for round in 0..ROUNDS {
                for step in 0..warm.len() {
                    let place = (round + step) % warm.len();
                    let measured = process(warm[place], threads)?;
                    if round == 0 {
                        let name = format!("{loading}, {}, {threads} threads", warm[place].name());
                        report.note(line(&name, &measured));
                    }
                    walls[place].push(measured.wall);
                }
            }
            let figures = warm.iter().zip(walls);
            let row = report.add(Cell {
                situation: format!("{loading}, warm, all files, {threads} threads"),
                figures: figures
                    .map(|(stage, walls)| (stage.name().to_owned(), Spread::of(walls)))
                    .collect(),
            });
            println!("{row}");
        }
    }
    let (theirs, ours) = (bytes_below(&driver_cache)?, bytes_below(&ours)?);
    report.note(format!(
        "bytes on disk: the driver's cache {theirs}, our cubins {ours}, ×{:.3}",
        ours as f64 / theirs as f64
    ));
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The machine with the GPU is often not the one that built this.
    let target =
        if built_in.is_dir() { built_in.join("../target/bench") } else { "target/bench".into() };
    for path in report.write(&target)? {
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn line(name: &str, measured: &Measured) -> String {
    let Measured { wall, median, longest, memory_warm } = measured;
    let memory = memory_warm.map(|nanos| format!(", then {nanos:.1} ns a function from memory"));
    format!(
        "{name}: {wall:.1} ms in total, median {median:.3} ms, longest {longest:.1} ms{}",
        memory.unwrap_or_default()
    )
}

/// Runs `stage` in a separate process.
fn measure(
    stage: Stage,
    threads: usize,
    loading: &str,
    directory: &Path,
) -> Result<Measured, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["--stage", stage.name(), &threads.to_string()]).arg(directory);
    child.env("CUDA_MODULE_LOADING", loading);
    if stage == Stage::DriverCache {
        child.env_remove("CUDA_CACHE_DISABLE").env("CUDA_CACHE_PATH", directory);
        child.env("CUDA_CACHE_MAXSIZE", "4294967296");
    } else {
        child.env("CUDA_CACHE_DISABLE", "1");
    }
    let output = child.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` failed: {said}", stage.name()).into());
    }
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| said[name].as_f64();
    Ok(Measured {
        wall: figure("wall_ms").ok_or("no wall_ms")?,
        median: figure("median_ms").ok_or("no median_ms")?,
        longest: figure("longest_ms").ok_or("no longest_ms")?,
        memory_warm: figure("memory_warm_ns"),
    })
}

/// The bytes of all blocks of the files below `directory`.
fn bytes_below(directory: &Path) -> Result<u64, std::io::Error> {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { bytes_below(&entry.path())? } else { about.blocks() * 512 };
    }
    Ok(sum)
}
