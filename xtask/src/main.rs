//! The project's automation: `cargo xtask SUBCOMMAND`. One file each; this one lists them.
//!
//! Whoever can build Rust can run it.

use std::process::ExitCode;

mod arrows;
mod bench;
mod ci;
mod demo;
mod gpu_bundle;
mod layers;
mod licences;
mod mutation;
mod run;
mod rust_version;
mod soundness;
mod stress;
mod test;
mod tidy;
mod tools;

const USAGE: &str = "\
cargo xtask ci [SECTION...]    everything that CI checks, section by section, or these alone
cargo xtask test [-- ARGS]     all tests, with the tools that they need; ARGS go to the runner
cargo xtask bench [NAME ARGS]  a benchmark beside its peers; without a name, the list
cargo xtask demo [ARGS]        the main job
cargo xtask soundness [CASES]  the soundness property on many configurations (a million)
cargo xtask stress [SECONDS]   the memory cache under everything at once (600 seconds)
cargo xtask mutation [PART]    deletes each field from the key, weakens each ordering, one at a
                               time, and says which test noticed; PART of a file's name picks
cargo xtask gpu-bundle         GPU tests as binaries for a machine without Rust, in .gpu/
cargo xtask tidy               source rules that no other tool checks
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match arguments.first().map(String::as_str) {
        Some("ci") => ci::run(rest),
        Some("test") => test::run(rest),
        Some("bench") => bench::run(rest),
        Some("demo") => demo::run(rest),
        Some("soundness") => soundness::run(rest),
        Some("stress") => stress::run(rest),
        Some("mutation") => mutation::run(rest),
        Some("gpu-bundle") => gpu_bundle::run(),
        Some("tidy") => tidy::run(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
