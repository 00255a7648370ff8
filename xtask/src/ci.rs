//! What does CI check? Named sections, timed.

use std::time::Instant;

use anyhow::{Result, bail};
use xshell::cmd;

use crate::workspace::{root, shell};
use crate::{arrows, dependencies, layers, rust_version, test, tidy};

type Section = (&'static str, fn() -> Result<()>);

/// Cheapest first.
const SECTIONS: [Section; 13] = [
    ("format", format),
    ("tidy", tidy::run),
    ("layers", layers::check),
    ("arrows", arrows::check),
    ("dependencies", dependencies::check),
    ("rust-version", rust_version::check),
    ("clippy", clippy),
    ("clippy-all-features", clippy_all_features),
    ("docs", docs),
    ("tests", tests),
    ("examples", examples),
    ("loom", loom),
    ("fuzz", fuzz),
];

/// Runs the named sections, or all. After a failure the others still run, so that one run shows
/// everything that is wrong.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let known = |name: &String| SECTIONS.iter().any(|(section, _)| section == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let sections = SECTIONS.map(|(section, _)| section).join(", ");
        bail!("no section `{unknown}`; the sections are {sections}");
    }
    let (mut timings, mut failed) = (Vec::new(), Vec::new());
    for (name, section) in SECTIONS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("== {name}");
        let started = Instant::now();
        let result = section();
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        timings.push(format!("{:>8.1} s  {name}: {word}", started.elapsed().as_secs_f64()));
        if let Err(error) = result {
            println!("{error:#}");
            failed.push(name);
        }
    }
    println!("== summary\n{}", timings.join("\n"));
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn format() -> Result<()> {
    let shell = shell()?;
    Ok(cmd!(shell, "cargo fmt --all --check").run()?)
}

const CLIPPY: [&str; 5] = ["clippy", "--workspace", "--all-targets", "--keep-going", "--quiet"];

fn clippy() -> Result<()> {
    let shell = shell()?;
    Ok(cmd!(shell, "cargo {CLIPPY...} -- -D warnings").run()?)
}

/// `cust`'s build script panics without a CUDA toolkit, except under docs.rs.
fn clippy_all_features() -> Result<()> {
    let shell = shell()?;
    let clippy = cmd!(shell, "cargo {CLIPPY...} --all-features -- -D warnings");
    Ok(clippy.env("DOCS_RS", "1").run()?)
}

fn docs() -> Result<()> {
    let shell = shell()?;
    let doc = cmd!(shell, "cargo doc --workspace --all-features --no-deps --quiet");
    Ok(doc.env("DOCS_RS", "1").env("RUSTDOCFLAGS", "-D warnings").run()?)
}

fn tests() -> Result<()> {
    test::run_requiring("corpus,ptxas,python,examples", &[])
}

/// The examples of single crates. `tests/suite/examples_run.rs` runs those that cross crates.
fn examples() -> Result<()> {
    let shell = shell()?;
    for (package, example) in [("ptx-key", "identity"), ("ptx-cuda", "full_path")] {
        cmd!(shell, "cargo run --quiet --package {package} --example {example}").run()?;
    }
    Ok(())
}

/// The models. All other tests are compiled without `--cfg loom` alone.
fn loom() -> Result<()> {
    let shell = shell()?;
    let test = cmd!(shell, "cargo test --package ptx-cache --release --lib");
    let test = test.env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom");
    Ok(test.env("CARGO_TARGET_DIR", root().join("target/loom")).run()?)
}

/// Checks the fuzz targets. Only linking needs libFuzzer, and building that needs a C++ compiler:
/// the path keeps its build script from building it.
fn fuzz() -> Result<()> {
    let shell = shell()?;
    let check = cmd!(shell, "cargo check --locked --quiet --manifest-path fuzz/Cargo.toml");
    let check = check.env("CUSTOM_LIBFUZZER_PATH", "not/linked/libfuzzer.a");
    Ok(check.env("CARGO_TARGET_DIR", root().join("target/fuzz")).run()?)
}
