//! The declared `rust-version` holds, as far as one toolchain can tell.
//!
//! For our code `clippy::incompatible_msrv`, which knows since when each standard item exists, is
//! among the lints that CI denies. For dependencies it is checked here that none declares a later
//! version, and by the way that `Cargo.lock` is as the manifests want it. No older compiler is
//! run: the machines that check this have one toolchain.

use crate::run::{Outcome, cargo, read, root, text};

pub(crate) fn check() -> Outcome {
    let manifest = read(&root().join("Cargo.toml"))?;
    let declared = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or("no rust-version in Cargo.toml")?;
    let ours = version(declared).ok_or_else(|| format!("`{declared}` is no version"))?;
    let arguments = ["metadata", "--format-version", "1", "--all-features", "--locked"];
    let metadata = text(&mut cargo(&arguments))?;
    let packages = packages(&metadata);
    let silent = packages.iter().filter(|(_, theirs)| theirs.is_none()).count();
    let later: Vec<String> = packages
        .iter()
        .filter_map(|(package, theirs)| Some((package, (*theirs)?)))
        .filter(|(_, theirs)| version(theirs).is_none_or(|theirs| theirs > ours))
        .map(|(package, theirs)| format!("{package} needs Rust {theirs}, we declare {declared}"))
        .collect();
    println!("Rust {declared} or earlier: {} packages, {silent} do not say", packages.len());
    if later.is_empty() { Ok(()) } else { Err(later.join("\n")) }
}

/// Each package's folder and what Rust it declares. Cargo writes a package's fields in one order,
/// in which the manifest's path comes before the Rust version.
fn packages(metadata: &str) -> Vec<(&str, Option<&str>)> {
    let after_each = metadata.split("\"manifest_path\":\"").skip(1);
    let parsed = after_each.filter_map(|rest| {
        let path = rest.split_once('"')?.0;
        let folder = path.trim_end_matches("/Cargo.toml").rsplit('/').next()?;
        let (_, rust) = rest.split_once("\"rust_version\":")?;
        let rust = rust.strip_prefix('"').and_then(|rust| Some(rust.split_once('"')?.0));
        Some((folder, rust))
    });
    parsed.collect()
}

/// Major, minor and patch.
fn version(text: &str) -> Option<[u64; 3]> {
    let mut version = [0; 3];
    let mut parts = text.split('.');
    for (slot, part) in version.iter_mut().zip(parts.by_ref()) {
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(version("1.9") < version("1.89.0"));
        assert_eq!(version("1.89"), version("1.89.0"));
        assert_eq!(version("1.x"), None);
        assert_eq!(version("1.2.3.4"), None);
    }

    #[test]
    fn packages_are_found_in_what_cargo_writes() {
        let metadata = r#"{"packages":[{"name":"a","manifest_path":"/r/a-1.0/Cargo.toml","edition":"2021","rust_version":"1.60"},{"name":"b","manifest_path":"/r/b-2.0/Cargo.toml","rust_version":null}]}"#;
        assert_eq!(packages(metadata), [("a-1.0", Some("1.60")), ("b-2.0", None)]);
    }
}
