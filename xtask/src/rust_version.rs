//! Does the declared `rust-version` hold, as far as one toolchain can tell?
//!
//! `clippy::incompatible_msrv` checks our code: it knows the Rust version of each standard item.
//! This section checks that no dependency declares a later version, and that `Cargo.lock` matches
//! the manifests. No older compiler runs: the machines of `cargo xtask ci` have one toolchain.

use anyhow::{Context as _, Result, bail};

use crate::workspace::all_packages;

pub(crate) fn check() -> Result<()> {
    let packages = all_packages()?;
    let ours = packages.iter().find(|package| package.name == "xtask");
    let ours = ours.and_then(|package| package.rust_version.as_ref());
    let ours = ours.context("no `rust-version` in Cargo.toml")?;
    let silent = packages.iter().filter(|package| package.rust_version.is_none()).count();
    let later: Vec<String> = packages
        .iter()
        .filter_map(|package| Some((package, package.rust_version.as_ref()?)))
        .filter(|(_, theirs)| *theirs > ours)
        .map(|(package, theirs)| {
            format!("{} {} needs Rust {theirs}", package.name, package.version)
        })
        .collect();
    println!("Rust {ours}: {} packages, of which {silent} declare no version", packages.len());
    if later.is_empty() { Ok(()) } else { bail!("{}", later.join("\n")) }
}
