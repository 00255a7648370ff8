//! GPU tests as binaries, for a machine that has a GPU and no Rust.
//!
//! `cust` links `libcuda`, which the machine that builds lacks. A stub of the same soname with the
//! symbols that `cust_raw` declares satisfies the linker; where the binary runs, the loader finds
//! the driver's own library under that soname.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::run::{Outcome, cargo, command, output, read, root, run as execute, write};

const RUN: &str = "\
#!/usr/bin/env bash
# Runs the GPU tests and the demo on this machine. Arguments go to the tests.
set -u
cd \"$(dirname \"$0\")\"
export CUDA_CACHE_DISABLE=\"${CUDA_CACHE_DISABLE:-1}\"
export PTX_REQUIRE=\"${PTX_REQUIRE-gpu}\"
status=0
for suite in ./suite-*; do
    \"$suite\" gpu --test-threads=1 \"$@\" || status=1
done
./ptx demo || status=1
exit $status
";

pub(crate) fn run() -> Outcome {
    let stub = stub()?;
    let bundle = root().join(".gpu");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle)
            .map_err(|error| format!("{}: {error}", bundle.display()))?;
    }
    std::fs::create_dir_all(&bundle).map_err(|error| format!("{}: {error}", bundle.display()))?;
    // A target folder of its own: the feature changes what half the workspace is built from.
    let target = root().join("target/gpu");
    let cargo_for_gpu = |arguments: &[&str]| {
        let mut cargo = cargo(arguments);
        cargo.env("CUDA_LIBRARY_PATH", &stub).env("CARGO_TARGET_DIR", &target);
        cargo.env("RUSTFLAGS", "-C strip=symbols");
        cargo
    };
    let tests = [
        "test",
        "--release",
        "--no-run",
        "--package",
        "ptx-tests",
        "--test",
        "suite",
        "--features",
        "cuda",
    ];
    let built = output(&mut cargo_for_gpu(&tests))?;
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    if !built.status.success() {
        return Err(said);
    }
    let executables = said.lines().filter_map(|line| {
        Some(
            line.trim()
                .strip_prefix("Executable ")?
                .rsplit_once('(')?
                .1
                .trim_end_matches(')')
                .to_owned(),
        )
    });
    for executable in executables {
        let name = Path::new(&executable).file_name().unwrap_or_default();
        copy(&root().join(&executable), &bundle.join(name))?;
    }
    execute(&mut cargo_for_gpu(&[
        "build",
        "--release",
        "--package",
        "ptx-cli",
        "--features",
        "cuda",
    ]))?;
    copy(&target.join("release/ptx"), &bundle.join("ptx"))?;
    write(&bundle.join("run.sh"), RUN)?;
    execute(&mut command("chmod", &["+x", ".gpu/run.sh"]))?;
    println!("carry .gpu/ to the machine, then run .gpu/run.sh");
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let bytes = std::fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    println!("{:>10} bytes  {}", bytes, to.display());
    Ok(())
}

/// The folder of the stub, as `cust`'s build script expects a toolkit.
fn stub() -> Outcome<PathBuf> {
    let folder = root().join("target/gpu-stub");
    let libraries = folder.join("lib64/stubs");
    std::fs::create_dir_all(&libraries)
        .map_err(|error| format!("{}: {error}", libraries.display()))?;
    let include = folder.join("include");
    std::fs::create_dir_all(&include).map_err(|error| format!("{}: {error}", include.display()))?;
    write(&include.join("cuda.h"), "")?;
    let mut source = String::new();
    for symbol in symbols()? {
        let _ = writeln!(source, "int {symbol}(void) {{ return 3; }}");
    }
    let (code, library) = (folder.join("libcuda.c"), libraries.join("libcuda.so"));
    write(&code, &source)?;
    execute(
        command("cc", &["-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o"])
            .arg(&library)
            .arg(&code),
    )?;
    Ok(folder)
}

/// Every function that `cust_raw` declares.
fn symbols() -> Outcome<BTreeSet<String>> {
    execute(&mut cargo(&["fetch", "--quiet"]))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let registry = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let mut symbols = BTreeSet::new();
    for index in folders(&registry)? {
        for package in folders(&index)? {
            let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("cust_raw-") {
                collect(&package.join("src"), &mut symbols)?;
            }
        }
    }
    if symbols.is_empty() {
        return Err(format!("no cust_raw below {}", registry.display()));
    }
    Ok(symbols)
}

fn folders(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

fn collect(folder: &Path, symbols: &mut BTreeSet<String>) -> Outcome {
    for path in folders(folder)? {
        if path.is_dir() {
            collect(&path, symbols)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            for line in read(&path)?.lines() {
                let declared = line.trim_start().strip_prefix("pub fn cu");
                let name = declared.and_then(|rest| rest.split('(').next());
                symbols.extend(name.map(|name| format!("cu{name}")));
            }
        }
    }
    Ok(())
}
