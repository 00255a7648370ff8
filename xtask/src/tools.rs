//! Where do NVIDIA's compiler tools come from on a machine without a CUDA toolkit? From `PyPI`, into
//! `target/tools`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::workspace::root;

/// The release of `ptxas` and `libnvrtc` that the tests expect.
const RELEASE: &str = "13.5.37";

struct Tool {
    /// The variable that tells tests where the tool is.
    variable: &'static str,
    name: &'static str,
    package: &'static str,
    /// The files of the package that the tool needs.
    files: &'static [&'static str],
}

const TOOLS: [Tool; 2] = [
    Tool { variable: "PTXAS", name: "ptxas", package: "nvidia-cuda-nvcc", files: &["bin/ptxas"] },
    Tool {
        variable: "NVRTC_LIBRARY",
        name: "libnvrtc.so.13",
        package: "nvidia-cuda-nvrtc",
        // The library looks for its builtins in its own directory.
        files: &["lib/libnvrtc.so.13", "lib/libnvrtc-builtins.so.13.5"],
    },
];

/// Fetches each tool whose variable is not set. Returns the tools that are there, by variable.
pub(crate) fn provide(shell: &Shell) -> Vec<(&'static str, PathBuf)> {
    let directory = root().join("target/tools");
    let mut provided = Vec::new();
    for tool in TOOLS.iter().filter(|tool| std::env::var_os(tool.variable).is_none()) {
        match fetch(shell, tool, &directory) {
            Ok(()) => provided.push((tool.variable, directory.join(tool.name))),
            Err(error) => eprintln!(
                "no {}: tests that need it are skipped ({error:#}); set {} to use another",
                tool.name, tool.variable
            ),
        }
    }
    provided
}

fn fetch(shell: &Shell, tool: &Tool, directory: &Path) -> Result<()> {
    let done = directory.join(format!("{}-{RELEASE}.there", tool.package));
    if done.is_file() {
        return Ok(());
    }
    shell.create_dir(directory)?;
    let (script, files) = (include_str!("tools/fetch.py"), tool.files);
    let requirement = format!("{}=={RELEASE}", tool.package);
    let fetched = cmd!(shell, "python3 -c {script} {directory} {requirement} {files...}").quiet();
    fetched.run().with_context(|| format!("cannot fetch {} {RELEASE}", tool.package))?;
    Ok(shell.write_file(done, "")?)
}
