//! NVIDIA's compiler tools for machines without a CUDA toolkit, from `PyPI` into `target/tools`.

use std::path::{Path, PathBuf};

use crate::run::{Outcome, command, make_folder, root, run as execute, write};

/// The release whose `ptxas` and `libnvrtc` the tests were written against.
const RELEASE: &str = "13.5.37";

/// A tool: the variable that tells tests where it is, its name, its package, and the files that
/// it needs of that.
struct Tool {
    variable: &'static str,
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
}

const TOOLS: [Tool; 2] = [
    Tool { variable: "PTXAS", name: "ptxas", package: "nvidia-cuda-nvcc", files: &["bin/ptxas"] },
    Tool {
        variable: "NVRTC_LIBRARY",
        name: "libnvrtc.so.13",
        package: "nvidia-cuda-nvrtc",
        // It finds its builtins beside itself.
        files: &["lib/libnvrtc.so.13", "lib/libnvrtc-builtins.so.13.5"],
    },
];

/// The tools that are there, by their variables; what a person has set is left alone. One that
/// cannot be had is said.
pub(crate) fn provide() -> Vec<(&'static str, PathBuf)> {
    let folder = root().join("target/tools");
    let mut provided = Vec::new();
    for tool in &TOOLS {
        if std::env::var_os(tool.variable).is_some() {
            continue;
        }
        match fetch(tool, &folder) {
            Ok(()) => provided.push((tool.variable, folder.join(tool.name))),
            Err(error) => eprintln!(
                "no {}, so tests that need it are skipped ({error}); set {} to use another",
                tool.name, tool.variable
            ),
        }
    }
    provided
}

fn fetch(tool: &Tool, folder: &Path) -> Outcome {
    let mark = folder.join(format!("{}-{RELEASE}.there", tool.package));
    if mark.is_file() {
        return Ok(());
    }
    make_folder(folder)?;
    let requirement = format!("{}=={RELEASE}", tool.package);
    let python = ["-c", include_str!("tools/fetch.py")];
    execute(command("python3", &python).arg(folder).arg(requirement).args(tool.files))
        .map_err(|_| format!("python3 could not fetch {} {RELEASE}", tool.package))?;
    write(&mark, "")
}
