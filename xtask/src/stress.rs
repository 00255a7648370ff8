//! The memory cache under everything at once, for as long as it is let.

use crate::run::{Outcome, cargo, run as execute};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seconds = arguments.first().map_or("600", String::as_str);
    if seconds.parse::<u64>().is_err() {
        return Err(format!("`{seconds}` is not a number of seconds"));
    }
    let arguments = ["test", "--release", "--package", "ptx-cache", "--features", "async"];
    execute(
        cargo(&arguments)
            .args(["--test", "stress", "--", "--nocapture"])
            .env("PTX_STRESS_SECONDS", seconds),
    )
}
