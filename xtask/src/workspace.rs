//! Where is the workspace, and which packages and files does it have?

use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{CargoOpt, MetadataCommand, Package};
use xshell::{Shell, cmd};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A shell in the repository's root.
pub(crate) fn shell() -> Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    Ok(shell)
}

/// The workspace's own packages.
pub(crate) fn members() -> Result<Vec<Package>> {
    Ok(MetadataCommand::new().current_dir(root()).no_deps().exec()?.packages)
}

/// Members and their dependencies, for every platform, with every feature, as `Cargo.lock` has them.
pub(crate) fn all_packages() -> Result<Vec<Package>> {
    let mut command = MetadataCommand::new();
    command.current_dir(root()).features(CargoOpt::AllFeatures);
    Ok(command.other_options(vec!["--locked".to_owned()]).exec()?.packages)
}

/// A member's directory, relative to the repository's root.
pub(crate) fn directory(member: &Package) -> String {
    let directory = member.manifest_path.parent().unwrap_or(&member.manifest_path);
    directory.strip_prefix(root()).unwrap_or(directory).to_string()
}

/// The files that Git tracks or does not ignore, relative to the repository's root.
pub(crate) fn files(shell: &Shell) -> Result<Vec<String>> {
    let listed = cmd!(shell, "git ls-files --cached --others --exclude-standard").quiet().read()?;
    // Git lists a deleted file until the deletion is committed.
    Ok(listed.lines().filter(|file| root().join(file).is_file()).map(str::to_owned).collect())
}

/// Whether this is the path of a file of Rust.
pub(crate) fn is_rust(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "rs")
}
