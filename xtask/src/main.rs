//! The project's automation: `cargo xtask SUBCOMMAND`, one file each.
//!
//! `xshell` runs commands, `anyhow` says what failed, `cargo_metadata` knows the workspace, `syn`
//! reads Rust, and `petgraph` finds cycles of files.

use std::process::ExitCode;

mod arrows;
mod bench;
mod ci;
mod dependencies;
mod gpu_bundle;
mod layers;
mod mutation;
mod rust_version;
mod soundness;
mod stress;
mod test;
mod tidy;
mod tools;
mod workspace;

const USAGE: &str = "\
cargo xtask ci [SECTION...]    all sections of CI, or only these
cargo xtask test [-- ARGS]     all tests, with the tools that they need; ARGS go to the runner
cargo xtask bench [NAME ARGS]  a benchmark and its peers; without a name, the list
cargo xtask soundness [CASES]  the soundness property on CASES configurations (1000000)
cargo xtask stress [SECONDS [tsan]]
                               the memory cache under every operation at once (600 seconds);
                               tsan runs it under ThreadSanitizer
cargo xtask mutation [PART]    deletes each field of a key and weakens each memory ordering, one at
                               a time, and prints which test fails; PART selects files by path
cargo xtask gpu-bundle         builds the GPU tests for a machine without Rust, into .gpu/
cargo xtask tidy               the source rules that no other tool checks
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result = match arguments.first().map(String::as_str) {
        Some("ci") => ci::run(rest),
        Some("test") => test::run(rest),
        Some("bench") => bench::run(rest),
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
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
