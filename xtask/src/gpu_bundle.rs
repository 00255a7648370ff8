//! GPU tests as binaries, for a machine that has a GPU and no Rust.
//!
//! `cust` links `libcuda`, which the machine that builds lacks. A stub of the same soname with the
//! symbols that `cust_raw` declares satisfies the linker; where the binary runs, the loader finds
//! the driver's own library under that soname.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{
    Outcome, at, cargo, command, entries, make_folder, output, read, root, run as execute, write,
};

const RUN: &str = "\
#!/usr/bin/env bash
# Runs the GPU tests, the demo and the examples on this machine. Arguments go to the tests.
set -u
cd \"$(dirname \"$0\")\"
export CUDA_CACHE_DISABLE=\"${CUDA_CACHE_DISABLE:-1}\"
export PTX_REQUIRE=\"${PTX_REQUIRE-gpu}\"
status=0
for suite in ./suite-*; do
    \"$suite\" gpu --test-threads=1 \"$@\" || status=1
done
./ptx demo || status=1
./raw_handles || status=1
PTXAS=\"${PTXAS:-$(command -v ptxas)}\"
if [ -n \"$PTXAS\" ]; then
    PTXAS=\"$PTXAS\" ./cudarc gpu || status=1
else
    echo \"skipped: no ptxas for the example of cudarc\" >&2
fi
exit $status
";

const RUN_BENCH: &str = "\
#!/usr/bin/env bash
# Measures module loading on this machine. Arguments go to the bench.
set -eu
export PTX_CORPUS=\"${PTX_CORPUS:-$(dirname \"$0\")/corpus}\"
\"$(dirname \"$0\")/bench-modules\" \"$@\"
";

const RUN_SANITIZED: &str = "\
#!/usr/bin/env bash
# Runs the GPU tests under compute-sanitizer: memory errors and leaks, then races and barriers of
# the kernels. Left out are the tests of a context that an illegal write ends, and what a call of the
# driver returns where a test asks it for something that is not there.
set -u
cd \"$(dirname \"$0\")\"
export CUDA_CACHE_DISABLE=1 PTX_REQUIRE=gpu
status=0
sanitize() {
    local tool=\"$1\"
    shift
    for suite in ./suite-*; do
        # The tool's own options are words.
        compute-sanitizer --target-processes all --report-api-errors no --error-exitcode 9 \\
            --tool $tool \"$suite\" --test-threads=1 \"$@\" || status=1
    done
}
sanitize \"memcheck --leak-check full\" gpu --skip a_lost_context --skip a_context_is_lost
for tool in racecheck synccheck initcheck; do
    sanitize \"$tool\" gpu_reference
done
exit $status
";

const TESTS: [&str; 6] = ["test", "--no-run", "--package", "ptx-tests", "--test", "suite"];
const BENCH: [&str; 6] = ["bench", "--no-run", "--package", "ptx-bench", "--bench", "modules"];
const EXAMPLES: [&str; 4] = ["build", "--package", "ptx-cuda", "--examples"];
const BINARY: [&str; 3] = ["build", "--package", "ptx-cli"];

pub(crate) fn run() -> Outcome {
    let stub = stub()?;
    // A target folder of its own: the feature changes what half the workspace is built from.
    let target = root().join("target/gpu");
    let cargo_for_gpu = |arguments: &[&str]| {
        let mut cargo = cargo(arguments);
        cargo.args(["--features", "cuda"]);
        cargo.env("CUDA_LIBRARY_PATH", &stub).env("CARGO_TARGET_DIR", &target);
        cargo.env("RUSTFLAGS", "-C strip=symbols");
        cargo
    };
    let built = |cargo: &mut Command| {
        let built = output(cargo)?;
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        if built.status.success() { Ok(said) } else { Err(said) }
    };
    let suites = built(cargo_for_gpu(&TESTS).arg("--release"))?;
    let benches = built(&mut cargo_for_gpu(&BENCH))?;
    execute(cargo_for_gpu(&EXAMPLES).arg("--release"))?;
    execute(cargo_for_gpu(&BINARY).arg("--release"))?;

    let bundle = root().join(".gpu");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle).map_err(at(&bundle))?;
    }
    make_folder(&bundle)?;
    for executable in suites.lines().filter_map(executable) {
        let name = Path::new(executable).file_name().unwrap_or_default();
        copy(&root().join(executable), &bundle.join(name))?;
    }
    for executable in benches.lines().filter_map(executable) {
        copy(&root().join(executable), &bundle.join("bench-modules"))?;
    }
    let corpus = root().join("../shared/corpus");
    if corpus.is_dir() {
        make_folder(&bundle.join("corpus"))?;
        for file in entries(&corpus)? {
            copy(&file, &bundle.join("corpus").join(file.file_name().unwrap_or_default()))?;
        }
    }
    for built in ["ptx", "examples/raw_handles", "examples/cudarc"] {
        let from = target.join("release").join(built);
        copy(&from, &bundle.join(from.file_name().unwrap_or_default()))?;
    }
    for (name, script) in [("run.sh", RUN), ("sanitize.sh", RUN_SANITIZED), ("bench.sh", RUN_BENCH)]
    {
        write(&bundle.join(name), script)?;
        execute(command("chmod", &["+x"]).arg(bundle.join(name)))?;
    }
    println!("carry .gpu/ to the machine, then run .gpu/run.sh, .gpu/sanitize.sh or .gpu/bench.sh");
    Ok(())
}

/// The path in a line such as `  Executable suite/main.rs (target/release/deps/suite-12ab)`.
fn executable(line: &str) -> Option<&str> {
    let (_, path) = line.trim().strip_prefix("Executable ")?.rsplit_once('(')?;
    path.strip_suffix(')')
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let bytes = std::fs::copy(from, to).map_err(at(from))?;
    println!("{bytes:>10} bytes  {}", to.display());
    Ok(())
}

/// A folder that `cust`'s build script takes for a toolkit.
fn stub() -> Outcome<PathBuf> {
    let folder = root().join("target/gpu-stub");
    let libraries = folder.join("lib64/stubs");
    make_folder(&libraries)?;
    let mut source = String::new();
    for symbol in symbols()? {
        // CUDA_ERROR_NOT_INITIALIZED, should anything ever call it.
        let _ = writeln!(source, "int {symbol}(void) {{ return 3; }}");
    }
    let (code, library) = (folder.join("libcuda.c"), libraries.join("libcuda.so"));
    write(&code, &source)?;
    let options = ["-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o"];
    execute(command("cc", &options).arg(&library).arg(&code))?;
    Ok(folder)
}

/// Every function that `cust_raw` declares.
fn symbols() -> Outcome<BTreeSet<String>> {
    execute(&mut cargo(&["fetch", "--quiet"]))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registry = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let mut symbols = BTreeSet::new();
    for index in entries(&registry)? {
        for package in entries(&index)? {
            let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("cust_raw-") {
                symbols.extend(declared(&read(&package.join("src/cuda.rs"))?));
            }
        }
    }
    if symbols.is_empty() {
        return Err(format!("no cust_raw below {}", registry.display()));
    }
    Ok(symbols)
}

fn declared(source: &str) -> impl Iterator<Item = String> {
    let functions = source.lines().filter_map(|line| line.trim().strip_prefix("pub fn cu"));
    functions.filter_map(|rest| Some(format!("cu{}", rest.split_once('(')?.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_found_in_what_cargo_says() {
        let line = "  Executable suite/main.rs (target/release/deps/suite-12ab)";
        assert_eq!(executable(line), Some("target/release/deps/suite-12ab"));
        assert_eq!(executable("   Compiling ptx-tests v0.1.0 (/tests)"), None);
    }

    #[test]
    fn symbols_are_the_functions_that_begin_with_cu() {
        let source = "extern \"C\" {\n    pub fn cuInit(Flags: c_uint) -> CUresult;\n    \
                      pub fn other();\n    pub fn cuMemAlloc_v2(\n}";
        assert_eq!(declared(source).collect::<Vec<_>>(), ["cuInit", "cuMemAlloc_v2"]);
    }
}
