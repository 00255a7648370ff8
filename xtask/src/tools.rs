//! NVIDIA's compiler tools for machines without a CUDA toolkit, from `PyPI` into `target/tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Outcome, command, root, run as execute};

/// The release whose `ptxas` and `libnvrtc` the tests were written against.
const RELEASE: &str = "13.5.37";

/// A tool: the variable that tells tests where it is, its package, the file within the package's
/// archive, and the name that it is kept under.
struct Tool {
    variable: &'static str,
    package: &'static str,
    member: &'static str,
    name: &'static str,
}

const TOOLS: [Tool; 3] = [
    Tool { variable: "PTXAS", package: "nvidia-cuda-nvcc", member: "bin/ptxas", name: "ptxas" },
    Tool {
        variable: "NVRTC_LIBRARY",
        package: "nvidia-cuda-nvrtc",
        member: "lib/libnvrtc.so.13",
        name: "libnvrtc.so.13",
    },
    Tool {
        variable: "NVRTC_BUILTINS",
        package: "nvidia-cuda-nvrtc",
        member: "lib/libnvrtc-builtins.so.*",
        name: "libnvrtc-builtins",
    },
];

/// Puts one member of a wheel in place: the file, then its name, so that a stopped run leaves
/// nothing half-made under the name.
const UNPACK: &str = "\
import fnmatch, os, sys, zipfile
wheels, member, target = sys.argv[1:]
for wheel in sorted(os.listdir(wheels)):
    with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
        for name in archive.namelist():
            if fnmatch.fnmatch(name, '*/' + member):
                # libnvrtc finds its builtins by their own name, beside itself.
                if member.endswith('*'):
                    target = os.path.join(os.path.dirname(target), os.path.basename(name))
                with open(target + '.part', 'wb') as part:
                    part.write(archive.read(name))
                os.chmod(target + '.part', 0o755)
                os.replace(target + '.part', target)
                sys.exit(0)
sys.exit('no ' + member + ' in the wheel')
";

/// The tools that are there, by their variables; what a person has set is left alone. One that
/// cannot be had is said, and the tests that need it say that they were skipped.
pub(crate) fn provide() -> Vec<(&'static str, PathBuf)> {
    let folder = root().join("target/tools");
    let mut provided = Vec::new();
    for tool in &TOOLS {
        if let Some(set) = std::env::var_os(tool.variable) {
            provided.push((tool.variable, PathBuf::from(set)));
            continue;
        }
        let path = folder.join(tool.name);
        match fetch(tool, &folder) {
            Ok(()) => provided.push((tool.variable, path)),
            Err(error) => eprintln!("no {}: {error}", tool.name),
        }
    }
    provided
}

fn fetch(tool: &Tool, folder: &Path) -> Outcome {
    // Says that this release of the tool is in place: the builtins keep a name of their own.
    let mark = folder.join(format!("{}-{RELEASE}.there", tool.name));
    if mark.is_file() {
        return Ok(());
    }
    let wheels = folder.join(format!("wheels-{}", tool.package));
    std::fs::create_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let requirement = format!("{}=={RELEASE}", tool.package);
    let arguments =
        ["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest"];
    execute(command("python3", &arguments).arg(&wheels).arg(&requirement))?;
    execute(
        Command::new("python3")
            .args(["-c", UNPACK])
            .arg(&wheels)
            .arg(tool.member)
            .arg(folder.join(tool.name)),
    )?;
    std::fs::write(&mark, RELEASE).map_err(|error| format!("{}: {error}", mark.display()))
}
