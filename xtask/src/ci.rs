//! What CI checks, in named, timed sections.

use std::time::Instant;

use crate::run::{Outcome, cargo, read, root, run as execute, text};
use crate::{layers, licences, test, tidy};

type Section = (&'static str, fn() -> Outcome);

const SECTIONS: [Section; 11] = [
    ("format", format),
    ("tidy", tidy::run),
    ("layers", layers::check),
    ("licences and sources", licences::check),
    ("rust-version", rust_version),
    ("clippy, default features", clippy),
    ("clippy, all features", clippy_all_features),
    ("documentation", documentation),
    ("tests", tests),
    ("loom models", loom),
    ("fuzz targets compile", fuzz),
];

pub(crate) fn run() -> Outcome {
    let mut timings = Vec::new();
    for (name, section) in SECTIONS {
        println!("== {name}");
        let started = Instant::now();
        section().map_err(|error| format!("section `{name}`: {error}"))?;
        timings.push((name, started.elapsed().as_secs_f64()));
    }
    println!("== all sections passed");
    for (name, seconds) in timings {
        println!("{seconds:>8.1} s  {name}");
    }
    Ok(())
}

fn format() -> Outcome {
    execute(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Outcome {
    execute(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))
}

/// `cust`'s build script panics where there is no CUDA toolkit, except for docs.rs.
fn clippy_all_features() -> Outcome {
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    execute(cargo(&arguments).env("DOCS_RS", "1"))
}

fn documentation() -> Outcome {
    let arguments = ["doc", "--workspace", "--all-features", "--no-deps", "--quiet"];
    execute(cargo(&arguments).env("DOCS_RS", "1").env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests() -> Outcome {
    test::run_requiring("corpus,ptxas,python", &[])
}

fn loom() -> Outcome {
    let arguments =
        ["test", "--package", "ptx-cache", "--release", "--lib", "--quiet", "loom_models"];
    execute(
        cargo(&arguments)
            .env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom")
            .env("CARGO_TARGET_DIR", "target/loom"),
    )
}

/// The declared `rust-version` is held by `clippy::incompatible_msrv`, which knows since when each
/// standard item exists, and by cargo's resolver for dependencies. No older compiler is run: the
/// machines that check this have one toolchain.
fn rust_version() -> Outcome {
    let tree = text(&mut cargo(&[
        "tree",
        "--workspace",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))?;
    let manifest = read(&root().join("Cargo.toml"))?;
    let declared = manifest.lines().find(|line| line.starts_with("rust-version"));
    let declared = declared.ok_or("no rust-version in Cargo.toml")?;
    if !manifest.contains("resolver = \"3\"") {
        return Err("resolver 3 is what keeps dependencies to our rust-version".to_owned());
    }
    println!("{declared} over {} packages, by resolver 3 and clippy", tree.lines().count());
    Ok(())
}

fn fuzz() -> Outcome {
    let fuzz = root().join("fuzz/Cargo.toml");
    if !fuzz.is_file() {
        return Err("fuzz/Cargo.toml is missing".to_owned());
    }
    execute(&mut cargo(&["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]))
}
