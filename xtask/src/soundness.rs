//! The soundness property on many configurations.

use crate::run::{Outcome, cargo, run as execute};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let cases = arguments.first().map_or("1000000", String::as_str);
    if cases.parse::<u32>().is_err() {
        return Err(format!("`{cases}` is not a number of cases"));
    }
    let arguments = ["test", "--release", "--package", "ptx-tests", "--test", "suite"];
    execute(
        cargo(&arguments)
            .args(["--", "soundness", "--nocapture"])
            .env("PTX_SOUNDNESS_CASES", cases),
    )
}
