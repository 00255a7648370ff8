//! What CI checks, in named, timed sections.

use std::time::Instant;

use crate::run::{Outcome, cargo, root, run as execute};
use crate::{arrows, layers, licences, rust_version, test, tidy};

type Section = (&'static str, fn() -> Outcome);

/// Cheapest first.
const SECTIONS: [Section; 12] = [
    ("format", format),
    ("tidy", tidy::run),
    ("layers", layers::check),
    ("arrows", arrows::check),
    ("licences", licences::check),
    ("rust-version", rust_version::check),
    ("clippy", clippy),
    ("clippy-all-features", clippy_all_features),
    ("docs", docs),
    ("tests", tests),
    ("loom", loom),
    ("fuzz", fuzz),
];

/// Every section, or those named. A section that fails does not keep the others from running, so
/// that one run says all that is wrong.
pub(crate) fn run(names: &[String]) -> Outcome {
    let known = |name: &String| SECTIONS.iter().any(|(section, _)| section == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let sections = SECTIONS.map(|(section, _)| section).join(", ");
        return Err(format!("no section `{unknown}`; there are {sections}"));
    }
    let (mut timings, mut failures) = (Vec::new(), Vec::new());
    for (name, section) in SECTIONS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("== {name}");
        let started = Instant::now();
        let outcome = section();
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        timings.push(format!("{:>8.1} s  {name}: {word}", started.elapsed().as_secs_f64()));
        if let Err(error) = outcome {
            println!("{error}");
            failures.push(name);
        }
    }
    println!("== summary\n{}", timings.join("\n"));
    if failures.is_empty() { Ok(()) } else { Err(format!("failed: {}", failures.join(", "))) }
}

fn format() -> Outcome {
    execute(&mut cargo(&["fmt", "--all", "--check"]))
}

const CLIPPY: [&str; 5] = ["clippy", "--workspace", "--all-targets", "--keep-going", "--quiet"];

fn clippy() -> Outcome {
    execute(cargo(&CLIPPY).args(["--", "-D", "warnings"]))
}

/// `cust`'s build script panics where there is no CUDA toolkit, except for docs.rs.
fn clippy_all_features() -> Outcome {
    execute(cargo(&CLIPPY).args(["--all-features", "--", "-D", "warnings"]).env("DOCS_RS", "1"))
}

fn docs() -> Outcome {
    let arguments = ["doc", "--workspace", "--all-features", "--no-deps", "--quiet"];
    execute(cargo(&arguments).env("DOCS_RS", "1").env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests() -> Outcome {
    test::run_requiring("corpus,ptxas,python", &[])
}

fn loom() -> Outcome {
    let arguments = ["test", "--package", "ptx-cache", "--release", "--lib", "loom_models"];
    execute(
        cargo(&arguments)
            .env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom")
            .env("CARGO_TARGET_DIR", root().join("target/loom")),
    )
}

/// The fuzz targets compile. Only linking, which is not done here, needs libFuzzer, so it is not
/// built: that takes a C++ compiler.
fn fuzz() -> Outcome {
    let mut check = cargo(&["check", "--locked", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    check.env("CUSTOM_LIBFUZZER_PATH", "not/linked/libfuzzer.a");
    execute(check.env("CARGO_TARGET_DIR", root().join("target/fuzz")))
}
