//! Finds the build of the driver by the libraries that the process has mapped.

use std::path::{Path, PathBuf};

use ptx_key::Digest;

const LIBCUDA: &str = "libcuda.so";
const COMPILER: &str = "libnvidia-ptxjitcompiler.so.1";

/// The name of the driver's build, with `/proc` at `proc`.
pub(super) fn find_in(proc: &Path) -> Option<String> {
    let maps = std::fs::read_to_string(proc.join("self/maps")).unwrap_or_default();
    let libraries = mapped_libcuda(&maps).and_then(|libcuda| of_libraries(&libcuda));
    libraries.or_else(|| {
        let said = std::fs::read_to_string(proc.join("driver/nvidia/version")).ok()?;
        Some(said.lines().next().filter(|line| !line.trim().is_empty())?.to_owned())
    })
}

/// The file of `libcuda` in a process's table of mappings.
fn mapped_libcuda(maps: &str) -> Option<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.get(line.find('/')?..)).map(Path::new);
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let mut libraries =
        paths.filter(|path| name(path).is_some_and(|name| name.starts_with(LIBCUDA)));
    libraries.next().map(Path::to_owned)
}

/// The names of `libcuda` and of the compiler beside it, if there is one.
fn of_libraries(libcuda: &Path) -> Option<String> {
    let own = of_library(libcuda)?;
    let compiler = libcuda.with_file_name(COMPILER).canonicalize().ok();
    let compiler = compiler.and_then(|compiler| of_library(&compiler));
    Some(match compiler {
        Some(compiler) => format!("{own} {compiler}"),
        None => own,
    })
}

/// A library's name if it contains the driver's version, else its name and its digest.
fn of_library(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    // After an upgrade a running process keeps the old file, of which only the name is left.
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    if has_version(name) {
        return Some(name.to_owned());
    }
    Some(format!("{name} {}", Digest::of_file(path).ok()?))
}

/// Returns true if a library's name ends with a driver's version, such as `580.95.05`, and not with
/// an interface's number, such as `1` or `1.1`.
fn has_version(name: &str) -> bool {
    let Some((_, version)) = name.split_once(".so.") else { return false };
    let mut numbers = version.split('.');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let first = numbers.next().unwrap_or_default();
    first.len() >= 3 && is_number(first) && numbers.clone().count() > 0 && numbers.all(is_number)
}

#[cfg(test)]
mod tests;
