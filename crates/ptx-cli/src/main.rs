//! The binary `ptx`: runs the demo, looks into a store, explains a miss.
//!
//! Exits with 0 when all went well, 1 when something did not, and 2 when it was called wrongly.
//!
//! `clap` reads the arguments, `anyhow` carries what went wrong up to here with where it happened,
//! `tempfile` holds the demo's store.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ptx_key::{PtxKey, Target};

mod demo;
mod explain;
mod format;
#[cfg(feature = "cuda")]
mod gpu;
mod programs;
mod show;
mod store;

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
    Demo(Demo),
    /// Prints a stored text.
    Show {
        /// The key, in 64 hexadecimal digits.
        key: PtxKey,
        /// The store; by default where `PTX_CACHE_DIR` or the platform says.
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
        /// Prints the text alone, for `ptxas` and editors, without what is known of it.
        #[arg(long)]
        text: bool,
    },
    /// Says in which fields two stored keys differ: why the second missed where the first was.
    Explain {
        /// The key that was there.
        kept: PtxKey,
        /// The key that was asked for.
        asked: PtxKey,
        /// The store; by default where `PTX_CACHE_DIR` or the platform says.
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
    },
}

/// What the demo works on.
#[derive(Clone, Debug, Default, clap::Args)]
struct Demo {
    /// Takes the `.ptx` files of this folder as what lowering puts out, in place of the reference
    /// kernels.
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    corpus: Option<PathBuf>,
    /// Keeps the store in this folder. By default it is a temporary one, and nothing is left.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Lowers for this target, such as `sm_90a`; may be given several times.
    #[arg(long, value_name = "TARGET")]
    target: Vec<Target>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = arguments.command.unwrap_or_else(|| Command::Demo(Demo::default()));
    let outcome = match &command {
        Command::Demo(demo) => demo::run(demo),
        Command::Show { key, store, text } => show::run(*key, store.as_deref(), *text),
        Command::Explain { kept, asked, store } => explain::run(*kept, *asked, store.as_deref()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ptx: {error:#}");
            ExitCode::FAILURE
        }
    }
}
