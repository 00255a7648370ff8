//! How fast and how small is the store on disk, and its peers? `cargo xtask bench disk`.
//!
//! The entries are the corpus. The argument `quick` runs fewer rounds. `large` adds stores of 10,000
//! and 100,000 entries, which take minutes to fill. Any other argument selects the situations whose
//! names contain it. Stores are in the system's temporary directory, and its file system matters:
//! `TMPDIR` names another. Files are in the page cache unless a situation says otherwise.

mod contenders;
mod situations;

use std::path::Path;

use ptx_bench::Report;
use ptx_tests::Corpus;

use contenders::Outcome;
use situations::{Bench, Settings, entries};

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "quick");
    let large = arguments.iter().any(|argument| argument == "large");
    let is_option = |argument: &String| ["quick", "large", "--bench"].contains(&argument.as_str());
    let wanted = arguments.into_iter().filter(|argument| !is_option(argument)).collect();
    let Some(corpus) = Corpus::find() else { return Ok(()) };
    let rounds = if quick { 3 } else { 5 };
    let sizes: &[u64] = if large { &[100, 1_000, 10_000, 100_000] } else { &[100, 1_000] };
    let settings = Settings { rounds, sizes };
    let bench = Bench { corpus: entries(&corpus.ptx_files()?), settings, wanted };
    let text: usize = bench.corpus.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {} KiB of text", bench.corpus.len(), text / 1024);

    let mut times = Report::new("disk", "µs");
    let mut space = Report::new("disk-space", "KiB");
    let mut inodes = Report::new("disk-inodes", "inodes");
    bench.loads(&mut times)?;
    bench.publish_all(&mut times)?;
    bench.sizes(&mut times)?;
    bench.space(&mut space, &mut inodes)?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    for report in [times, space, inodes] {
        for path in report.write(&target)? {
            println!("wrote {}", path.canonicalize()?.display());
        }
    }
    Ok(())
}
