//! Which commands does the binary `ptx` have? It runs the demo, and it shows, trims, verifies, warms,
//! exports, imports and explains the entries of a store.
//!
//! Exits with 0 on success, 1 on failure, 2 if the arguments are wrong, 3 if there is no store at the
//! path or it is off, and 141 if the reader of standard output left early, as a shell says of a
//! command that `SIGPIPE` ended. `ptx --help` says so too.
//!
//! `clap` reads the arguments, `anyhow` adds context to errors, `tempfile` holds the demo's store,
//! `indicatif` draws progress bars, and `bytesize` prints sizes.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ptx_key::Target;

use keys::KeyDigits;
use output::Output;

mod demo;
mod destination;
mod explain;
mod format;
#[cfg(feature = "cuda")]
mod gpu;
mod keys;
mod maintenance;
mod output;
mod programs;
mod show;
mod store;
mod transfer;
mod warm;

const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  failure, or damaged entries
    2  wrong arguments
    3  no store at the path, or the store is off
  141  standard output was closed before everything was printed";
const FAILED: u8 = 1;
const NO_STORE: u8 = 3;
const CLOSED: u8 = 141;

/// The PTX cache: lower once a process, once a machine.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lowers kernels cold, hits them in memory, drops all process state and hits them on disk.
    /// Runs if no command is named.
    Demo(demo::Demo),
    /// Prints a stored text or cubin.
    Show {
        /// The key, or its first digits: 4 or more that no other key starts with.
        key: KeyDigits,
        #[command(flatten)]
        at: At,
        /// Prints the payload alone, for `ptxas`, `cuobjdump` and editors, without its
        /// attributes.
        #[arg(long)]
        text: bool,
    },
    /// Removes what exceeds `PTX_CACHE_BYTES`, `PTX_CACHE_ENTRIES` and `PTX_CACHE_DAYS`, and
    /// compresses the rest harder than its writers had time to.
    Trim {
        /// The level of zstd for texts. A text is compressed again where that saves a twentieth or
        /// more.
        #[arg(long, default_value_t = 9, allow_negative_numbers = true)]
        level: i32,
        /// Only removes.
        #[arg(long, conflicts_with = "level")]
        keep_compression: bool,
        #[command(flatten)]
        at: At,
    },
    /// Reads and checks every entry. Quarantines damaged ones, and then exits with 1.
    Verify {
        /// Checks this bundle in place of a store. Damaged entries stay.
        #[arg(long, value_name = "FILE", conflicts_with = "store")]
        bundle: Option<PathBuf>,
        #[command(flatten)]
        at: At,
    },
    /// Writes all entries into a bundle, one file that is read in place or imported elsewhere.
    Export {
        /// The bundle to write; with `--text` a directory. A fifo, a device, or `-` for standard
        /// output gets a stream.
        to: PathBuf,
        /// Replaces any regular file. Without it only a bundle is replaced, and with `--text` a
        /// file of the same content.
        #[arg(long)]
        force: bool,
        /// The bundle's name, which imported entries remember as their origin.
        #[arg(long, default_value = "export", conflicts_with = "text")]
        name: String,
        /// Writes each text and cubin into a separate file, for `ptxas`, `cuobjdump` and
        /// editors.
        #[arg(long)]
        text: bool,
        /// Exports only the cubins for these architectures, such as `sm_80,sm_90`, and every text.
        /// Other devices assemble the texts.
        #[arg(long = "for", value_name = "ARCH", value_delimiter = ',', conflicts_with = "text")]
        architectures: Vec<Target>,
        #[command(flatten)]
        at: At,
    },
    /// Assembles the stored texts into the store, so that no program waits for it. With `--for` no
    /// GPU is needed.
    Warm {
        #[command(flatten)]
        assembly: warm::Assembly,
        #[command(flatten)]
        at: At,
    },
    /// Copies the entries of a bundle into the store. Entries that are present stay.
    Import {
        /// The bundle, or `-` for standard input.
        bundle: PathBuf,
        #[command(flatten)]
        at: At,
    },
    /// Prints in which fields two stored keys differ: why the second missed where the first was
    /// present.
    Explain {
        /// The key that was present, or its first digits.
        present: KeyDigits,
        /// The key that was asked for, or its first digits.
        asked: KeyDigits,
        #[command(flatten)]
        at: At,
    },
}

/// Where the store is.
#[derive(Clone, Debug, clap::Args)]
struct At {
    /// The store; by default where `PTX_CACHE_DIR` or the platform says.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

impl At {
    fn directory(&self) -> Option<&Path> {
        self.store.as_deref()
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = arguments.command.unwrap_or_else(|| Command::Demo(demo::Demo::default()));
    let mut out = Output::new();
    let outcome = run(&command, &mut out).and_then(|()| Ok(out.flush()?));
    match outcome {
        _ if out.is_closed() => ExitCode::from(CLOSED),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(told(&error));
            ExitCode::from(if error.is::<store::NoStore>() { NO_STORE } else { FAILED })
        }
    }
}

fn run(command: &Command, out: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Demo(demo) => demo::run(out, demo),
        Command::Show { key, at, text } => show::run(out, key, at.directory(), *text),
        Command::Trim { level, keep_compression, at } => {
            maintenance::trim(out, (!keep_compression).then_some(*level), at.directory())
        }
        Command::Verify { bundle, at } => {
            maintenance::verify(out, bundle.as_deref(), at.directory())
        }
        Command::Export { to, text: true, force, at, .. } => {
            transfer::export_text(out, to, *force, at.directory())
        }
        Command::Export { to, name, architectures, force, at, .. } => {
            transfer::export(out, to, *force, name, architectures, at.directory())
        }
        Command::Warm { assembly, at } => warm::run(out, assembly, at.directory()),
        Command::Import { bundle, at } => transfer::import(out, bundle, at.directory()),
        Command::Explain { present, asked, at } => {
            explain::run(out, present, asked, at.directory())
        }
    }
}

/// An error with its sources. Leaves out a source that the message already contains.
fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}
