//! The binary `ptx`: runs the demo, looks into a store, keeps it small and sound, assembles what is
//! in it, carries entries from one to another, explains a miss.
//!
//! Exits with 0 when all went well, 1 when something did not, and 2 when it was called wrongly.
//!
//! `clap` reads the arguments, `anyhow` carries what went wrong up to here with where it happened,
//! `tempfile` holds the demo's store, `indicatif` draws the bar of what takes long, `bytesize` prints
//! sizes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ptx_key::{Digest, PtxKey, Target};

mod demo;
mod explain;
mod format;
#[cfg(feature = "cuda")]
mod gpu;
mod maintenance;
mod programs;
mod show;
mod store;
mod transfer;
mod warm;

/// The PTX cache: lower once a process, once a machine.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lowers kernels cold, hits them in memory, drops all process state and hits them on disk.
    /// This is what runs when no command is named.
    Demo(demo::Demo),
    /// Prints a stored text or cubin.
    Show {
        /// The key, in 64 hexadecimal digits.
        key: Digest,
        #[command(flatten)]
        at: At,
        /// Prints the payload alone, for `ptxas`, `cuobjdump` and editors, without what is known
        /// of it.
        #[arg(long)]
        text: bool,
    },
    /// Removes what `PTX_CACHE_BYTES`, `PTX_CACHE_ENTRIES` and `PTX_CACHE_DAYS` do not allow, and
    /// stores the rest smaller than its writers had time to.
    Trim {
        /// The level of zstd to store texts with anew, where that saves a twentieth or more.
        #[arg(long, default_value_t = 9, allow_negative_numbers = true)]
        level: i32,
        /// Only removes.
        #[arg(long, conflicts_with = "level")]
        keep_compression: bool,
        #[command(flatten)]
        at: At,
    },
    /// Reads and checks every entry. Damaged ones are set aside, and the exit code is 1.
    Verify {
        /// Checks this bundle in place of a store. What is damaged stays where it is.
        #[arg(long, value_name = "FILE", conflicts_with = "store")]
        bundle: Option<PathBuf>,
        #[command(flatten)]
        at: At,
    },
    /// Writes all entries into a bundle, one file that is read in place or imported elsewhere.
    Export {
        /// The bundle to write; with `--text` a folder.
        to: PathBuf,
        /// The bundle's name, which imported entries remember as their origin.
        #[arg(long, default_value = "export", conflicts_with = "text")]
        name: String,
        /// Writes each text and cubin into a file of its own, for `ptxas`, `cuobjdump` and
        /// editors.
        #[arg(long)]
        text: bool,
        /// Takes no cubins but those for these architectures, such as `sm_80,sm_90`, and every
        /// text: what runs no cubin of the bundle assembles a text of it.
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
    /// Takes the entries of a bundle into the store. What is there stays.
    Import {
        /// The bundle.
        bundle: PathBuf,
        #[command(flatten)]
        at: At,
    },
    /// Says in which fields two stored keys differ: why the second missed where the first was.
    Explain {
        /// The key that was there.
        kept: PtxKey,
        /// The key that was asked for.
        asked: PtxKey,
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
    let outcome = match &command {
        Command::Demo(demo) => demo::run(demo),
        Command::Show { key, at, text } => show::run(*key, at.directory(), *text),
        Command::Trim { level, keep_compression, at } => {
            maintenance::trim((!keep_compression).then_some(*level), at.directory())
        }
        Command::Verify { bundle, at } => maintenance::verify(bundle.as_deref(), at.directory()),
        Command::Export { to, text: true, at, .. } => transfer::export_text(to, at.directory()),
        Command::Export { to, name, architectures, at, .. } => {
            transfer::export(to, name, architectures, at.directory())
        }
        Command::Warm { assembly, at } => warm::run(assembly, at.directory()),
        Command::Import { bundle, at } => transfer::import(bundle, at.directory()),
        Command::Explain { kept, asked, at } => explain::run(*kept, *asked, at.directory()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ptx: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with what it came of. Most say that themselves.
fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}
