//! How does one program fare cold, from memory, and from disk after all process state is gone?

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ptx_cache::{Config, PtxArtifact, PtxCache, PtxSnapshot, Served, Store, WritePolicy};
use ptx_disk::DiskStore;
use ptx_key::{PtxKey, Target};

use crate::programs::{self, Program};
use crate::{format, store};

/// What the demo works on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Demo {
    /// Takes the `.ptx` files of this directory as the lowering's output, in place of the reference
    /// kernels.
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    corpus: Option<PathBuf>,
    /// Keeps the store in this directory. By default it is a temporary one, which is removed at the
    /// end.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Lowers for this target, such as `sm_90a`; may be given several times.
    #[arg(long, value_name = "TARGET")]
    target: Vec<Target>,
}

/// Requests from memory, of which the median is shown.
const HITS: usize = 9;

/// One request, with its answer.
struct Request {
    served: Served<Arc<PtxArtifact>>,
    /// The whole request.
    took: Duration,
    /// The lowering within it.
    lowering: Duration,
}

/// One program's requests in the three parts of the demo.
struct Row {
    cold: Request,
    memory: Request,
    disk: Request,
}

pub(crate) fn run(out: &mut dyn Write, demo: &Demo) -> anyhow::Result<()> {
    let programs = match &demo.corpus {
        Some(directory) => programs::files(directory)?,
        None => programs::reference_programs(&demo.target)?,
    };
    let temporary = match &demo.store {
        Some(_) => None,
        None => {
            Some(tempfile::tempdir().context("cannot create a temporary directory for the store")?)
        }
    };
    let inside = temporary.as_ref().map(|directory| directory.path().join("store"));
    let directory = demo.store.as_deref().or(inside.as_deref());

    let first_disk = Arc::new(store::create(directory)?);
    let first = cache(&first_disk);
    let cold = request_all(&first, &programs)?;
    let mut memory = Vec::with_capacity(programs.len());
    for program in &programs {
        let mut hits =
            (0..HITS).map(|_| request(&first, program)).collect::<Result<Vec<_>, _>>()?;
        hits.sort_by_key(|hit| hit.took);
        memory.push(hits.swap_remove(HITS / 2));
    }
    let first_counts = (first.snapshot(), first_disk.statistics());
    // Only the store's directory stays.
    drop((first, first_disk));

    let second_disk = Arc::new(store::create(directory)?);
    let second = cache(&second_disk);
    let disk = request_all(&second, &programs)?;
    let second_counts = (second.snapshot(), second_disk.statistics());

    let mut rows = Vec::with_capacity(programs.len());
    for ((cold, memory), disk) in cold.into_iter().zip(memory).zip(disk) {
        let text = &cold.served.payload;
        ensure!(
            *text == memory.served.payload && *text == disk.served.payload,
            "the texts that were served for one key differ; please report this"
        );
        rows.push(Row { cold, memory, disk });
    }
    print_rows(out, &programs, &rows)?;
    writeln!(out, "\nfirst life of the process")?;
    print_counts(out, &first_counts)?;
    writeln!(out, "\nsecond life, on the same directory")?;
    print_counts(out, &second_counts)?;
    on_the_gpu(out, &programs, &rows, &second_disk)
}

fn cache(disk: &Arc<DiskStore>) -> PtxCache {
    let tier: Arc<dyn Store<PtxKey>> = Arc::<DiskStore>::clone(disk);
    PtxCache::with_tiers(Config::default(), vec![tier], WritePolicy::Ignore)
}

fn request_all(cache: &PtxCache, programs: &[Program]) -> anyhow::Result<Vec<Request>> {
    programs.iter().map(|program| request(cache, program)).collect()
}

fn request(cache: &PtxCache, program: &Program) -> anyhow::Result<Request> {
    let key = program.trace.key();
    let mut lowering = Duration::ZERO;
    let lower = || {
        let started = Instant::now();
        let text = program.lower();
        lowering = started.elapsed();
        text.map(|text| PtxArtifact::from(text).with_trace(program.trace.clone()))
    };
    let started = Instant::now();
    let served = cache.get_or_lower(&key, lower);
    let took = started.elapsed();
    let served = served.with_context(|| format!("`{}`", program.name))?;
    Ok(Request { served, took, lowering })
}

fn print_rows(out: &mut dyn Write, programs: &[Program], rows: &[Row]) -> io::Result<()> {
    let lines: Vec<[String; 9]> = programs
        .iter()
        .zip(rows)
        .map(|(program, Row { cold, memory, disk })| {
            let sources = [cold, memory, disk].map(|request| request.served.source.to_string());
            [
                program.name.clone(),
                program.configuration.target.to_string(),
                program.features.to_owned(),
                cold.served.payload.len().to_string(),
                format::time(cold.lowering),
                format::time(cold.took),
                format::time(disk.took),
                format::time(memory.took),
                sources.join(", "),
            ]
        })
        .collect();
    format::table(
        out,
        [
            "kernel",
            "target",
            "features",
            "PTX bytes",
            "lowering",
            "cold request",
            "disk",
            "memory",
            "served from",
        ],
        [false, false, false, true, true, true, true, true, false],
        &lines,
    )
}

fn print_counts(
    out: &mut dyn Write,
    (cache, disk): &(PtxSnapshot, ptx_disk::Statistics),
) -> io::Result<()> {
    let memory = &cache.memory;
    writeln!(
        out,
        "  memory: {} entries of {}; {} hits, {} misses, {} shared, {} failed; {} entries of {} \
         evicted",
        memory.resident.entries,
        format::bytes(memory.resident.bytes),
        memory.hits,
        memory.misses,
        memory.shared,
        memory.failed,
        memory.evicted.entries,
        format::bytes(memory.evicted.bytes)
    )?;
    for tier in &cache.tiers {
        writeln!(
            out,
            "  {}: {} hits, {} misses, {} written, {} failed to write, {} quarantined",
            tier.name, tier.hits, tier.misses, tier.writes, tier.write_failures, tier.quarantined
        )?;
    }
    writeln!(
        out,
        "  lowered: {} in {}; {} of lowering saved by the disk; {} published by this process",
        cache.lowered,
        format::time(cache.lowering_paid),
        format::time(cache.lowering_saved_by_tiers),
        disk.published
    )
}

#[cfg(feature = "cuda")]
fn on_the_gpu(
    out: &mut dyn Write,
    programs: &[Program],
    rows: &[Row],
    store: &Arc<DiskStore>,
) -> anyhow::Result<()> {
    let artifacts = rows.iter().map(|row| &**row.disk.served);
    crate::gpu::run(out, programs, artifacts, store)
}

#[cfg(not(feature = "cuda"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
fn on_the_gpu(
    _: &mut dyn Write,
    _: &[Program],
    _: &[Row],
    _: &Arc<DiskStore>,
) -> anyhow::Result<()> {
    Ok(())
}
