//! How fast is retention, and how good? `cargo xtask bench retention`.
//!
//! Quality is what a policy's misses cost in a replay of a trace, in seconds of lowering. Ours is
//! the real cache, which is told what each lowering would have cost. The argument `quick` leaves
//! out the synthetic traces and the largest selections. `quality` and `speed` run one half.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures of a bench need few digits"
)]

mod peers;
mod policy;
mod quality;
mod replay;
mod speed;
mod traces;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&target)?;
    if !is_asked("quality") {
        speed::report(is_asked("quick"), &target)?;
    }
    if !is_asked("speed") {
        quality::report(is_asked("quick"), &target)?;
    }
    Ok(())
}
