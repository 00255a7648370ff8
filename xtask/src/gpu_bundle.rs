//! How do the GPU tests run on a machine that has a GPU and no Rust?
//!
//! As binaries, in `.gpu/`. `cust` links `libcuda`, which the building machine lacks: the linker
//! gets a stub with the same soname and the symbols that `cust_raw` declares. On the machine with
//! the GPU the loader finds the driver's library by that soname.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use cargo_metadata::Message;
use xshell::{Shell, cmd};

use crate::workspace::{all_packages, root, shell};

const TESTS: &str = "test --no-run --release --package ptx-tests --test suite";
const BENCH: &str = "bench --no-run --package ptx-bench --bench modules";
const EXAMPLES: &str = "build --release --package ptx-cuda --examples";
const BINARY: &str = "build --release --package ptx-cli";

pub(crate) fn run() -> Result<()> {
    let shell = shell()?;
    let bundle = root().join(".gpu");
    shell.remove_path(&bundle)?;
    shell.create_dir(bundle.join("corpus"))?;
    for script in shell.read_dir("xtask/src/gpu_bundle")? {
        shell.copy_file(script, &bundle)?;
    }
    let corpus = root().join("../shared/corpus");
    if corpus.is_dir() {
        for file in shell.read_dir(corpus)? {
            shell.copy_file(file, bundle.join("corpus"))?;
        }
    }
    shell.set_var("CUDA_LIBRARY_PATH", stub(&shell)?);
    // The feature `cuda` changes half of what is built, so the other builds keep theirs.
    shell.set_var("CARGO_TARGET_DIR", root().join("target/gpu"));
    shell.set_var("RUSTFLAGS", "-C strip=symbols");
    for executable in build(&shell, BENCH)? {
        shell.copy_file(executable, bundle.join("bench-modules"))?;
    }
    for what in [TESTS, EXAMPLES, BINARY] {
        for executable in build(&shell, what)? {
            shell.copy_file(executable, &bundle)?;
        }
    }
    println!("copy .gpu/ to the machine, then run .gpu/run.sh, .gpu/sanitize.sh or .gpu/bench.sh");
    Ok(())
}

/// Runs `cargo` with these words and the feature `cuda`. Returns the executables that it built.
fn build(shell: &Shell, words: &str) -> Result<Vec<PathBuf>> {
    let words = words.split(' ');
    let built = cmd!(shell, "cargo {words...} --features cuda --message-format json").read()?;
    let mut executables = Vec::new();
    for message in Message::parse_stream(built.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message? {
            executables.extend(artifact.executable.map(PathBuf::from));
        }
    }
    Ok(executables)
}

/// Builds a directory that `cust`'s build script accepts as a toolkit.
fn stub(shell: &Shell) -> Result<PathBuf> {
    let directory = root().join("target/gpu-stub");
    let (code, libraries) = (directory.join("libcuda.c"), directory.join("lib64/stubs"));
    let mut source = String::new();
    for symbol in symbols(shell)? {
        // 3 is CUDA_ERROR_NOT_INITIALIZED, for a call that happens anyway.
        let _ = writeln!(source, "int {symbol}(void) {{ return 3; }}");
    }
    shell.write_file(&code, source)?;
    shell.create_dir(&libraries)?;
    let library = libraries.join("libcuda.so");
    cmd!(shell, "cc -shared -fPIC -w -Wl,-soname,libcuda.so.1 -o {library} {code}").run()?;
    Ok(directory)
}

/// Every function that `cust_raw` declares.
fn symbols(shell: &Shell) -> Result<BTreeSet<String>> {
    let packages = all_packages()?;
    let cust_raw = packages.iter().find(|package| package.name == "cust_raw");
    let cust_raw = cust_raw.context("no dependency on cust_raw")?;
    let source = cust_raw.manifest_path.with_file_name("src").join("cuda.rs");
    Ok(declared(&shell.read_file(source)?).collect())
}

fn declared(source: &str) -> impl Iterator<Item = String> {
    let functions = source.lines().filter_map(|line| line.trim().strip_prefix("pub fn cu"));
    functions.filter_map(|rest| Some(format!("cu{}", rest.split_once('(')?.0)))
}

#[cfg(test)]
mod tests {
    use super::declared;

    #[test]
    fn symbols_are_the_functions_that_begin_with_cu() {
        let source = "extern \"C\" {\n    pub fn cuInit(Flags: c_uint) -> CUresult;\n    \
                      pub fn other();\n    pub fn cuMemAlloc_v2(\n}";
        assert_eq!(declared(source).collect::<Vec<_>>(), ["cuInit", "cuMemAlloc_v2"]);
    }
}
