//! The memory cache under everything at once, for as long as it is let.

use crate::run::{Outcome, cargo, run as execute};

/// Seconds, 600 if none are given; then `tsan` to run under `ThreadSanitizer`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (seconds, sanitized) = match arguments {
        [] => ("600", false),
        [seconds] => (seconds.as_str(), false),
        [seconds, tsan] if tsan == "tsan" => (seconds.as_str(), true),
        _ => return Err("cargo xtask stress [SECONDS [tsan]]".to_owned()),
    };
    if seconds.parse::<u64>().is_err() {
        return Err(format!("`{seconds}` is not a number of seconds"));
    }
    let mut command = if sanitized {
        // The standard library is built anew, so that its locks are seen: needs the component
        // `rust-src`, and the compiler to forget that it is a stable one.
        let mut command = cargo(&["test", "-Zbuild-std", "--target", "x86_64-unknown-linux-gnu"]);
        command.env("RUSTC_BOOTSTRAP", "1");
        command.env("RUSTFLAGS", "-Zsanitizer=thread --cfg crossbeam_sanitize_thread");
        command.env("CARGO_TARGET_DIR", crate::run::root().join("target/tsan"));
        command
    } else {
        cargo(&["test", "--release"])
    };
    command.args(["--package", "ptx-cache", "--features", "async", "--test", "stress"]);
    execute(command.args(["--", "--nocapture"]).env("PTX_STRESS_SECONDS", seconds))
}
