//! Running other programs, and reading and writing files, from the repository's root.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What went wrong, for a person to read.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A command in the repository's root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Cargo, the one that runs this.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// Runs it with this process's output.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Runs it and gives its output, whether it succeeded or not.
pub(crate) fn output(command: &mut Command) -> Outcome<Output> {
    command.output().map_err(|error| format!("cannot run {command:?}: {error}"))
}

/// Runs it and gives what it printed.
pub(crate) fn text(command: &mut Command) -> Outcome<String> {
    let output = output(command)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?}: {}\n{said}", output.status))
    }
}

/// Names the path in the system's word about it.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(at(path))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: &str) -> Outcome {
    std::fs::write(path, content).map_err(at(path))
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Outcome {
    std::fs::create_dir_all(path).map_err(at(path))
}

/// What a folder holds, sorted.
pub(crate) fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(at(folder))?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(at(folder))?;
    paths.sort();
    Ok(paths)
}

/// The repository's files, those that are not committed yet among them, relative to its root.
pub(crate) fn sources() -> Outcome<Vec<String>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = text(&mut command("git", &arguments))?;
    // Git lists a file until its removal is committed.
    let there = listed.lines().filter(|file| root().join(file).is_file());
    Ok(there.map(str::to_owned).collect())
}

/// The manifests of the workspace's members, by folder.
pub(crate) fn manifests() -> Outcome<Vec<(String, String)>> {
    let files = sources()?;
    let folders = files.iter().filter_map(|file| file.strip_suffix("/Cargo.toml"));
    let members = folders.filter(|folder| *folder != "fuzz");
    members
        .map(|folder| Ok((folder.to_owned(), read(&root().join(folder).join("Cargo.toml"))?)))
        .collect()
}
