//! Does the soundness property hold on many configurations?

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::workspace::shell;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let cases = arguments.first().map_or("1000000", String::as_str);
    cases.parse::<u32>().with_context(|| format!("`{cases}` is not a number of cases"))?;
    let shell = shell()?;
    let test = cmd!(shell, "cargo test --release --package ptx-tests --test suite");
    let test = test.args(["--", "soundness", "--nocapture"]);
    Ok(test.env("PTX_SOUNDNESS_CASES", cases).run()?)
}
