//! Does the memory cache survive every operation at once?

use anyhow::{Context as _, Result, bail};
use xshell::cmd;

use crate::workspace::{root, shell};

/// Runs for the given seconds, or 600. `tsan` after them runs it under `ThreadSanitizer`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (seconds, sanitized) = match arguments {
        [] => ("600", false),
        [seconds] => (seconds.as_str(), false),
        [seconds, tsan] if tsan == "tsan" => (seconds.as_str(), true),
        _ => bail!("cargo xtask stress [SECONDS [tsan]]"),
    };
    seconds.parse::<u64>().with_context(|| format!("`{seconds}` is not a number of seconds"))?;
    let shell = shell()?;
    let test = if sanitized {
        // ThreadSanitizer sees the standard library's locks only if it is built with it. That
        // needs the component `rust-src` and a compiler that accepts unstable options.
        let test = cmd!(shell, "cargo test -Zbuild-std --target x86_64-unknown-linux-gnu");
        test.env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=thread --cfg crossbeam_sanitize_thread")
            .env("CARGO_TARGET_DIR", root().join("target/tsan"))
    } else {
        cmd!(shell, "cargo test --release")
    };
    let test = test.args(["--package", "ptx-cache", "--features", "async", "--test", "stress"]);
    Ok(test.args(["--", "--nocapture"]).env("PTX_STRESS_SECONDS", seconds).run()?)
}
