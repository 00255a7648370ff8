//! Do all dependencies have a licence that we accept, and come from crates.io?
//!
//! `cargo deny` checks it; `deny.toml` says what we accept. Advisories are left out: their database
//! is a Git repository that the machines of `cargo xtask ci` cannot reach. Where it can be reached,
//! `cargo deny check` checks them too.

use anyhow::{Result, bail};
use xshell::cmd;

use crate::workspace::shell;

pub(crate) fn check() -> Result<()> {
    let shell = shell()?;
    if cmd!(shell, "cargo deny --version").quiet().ignore_stderr().read().is_err() {
        bail!("no cargo-deny: run `cargo install --locked cargo-deny`");
    }
    Ok(cmd!(shell, "cargo deny --locked check --hide-inclusion-graph licenses bans sources")
        .run()?)
}
