//! Which benchmarks are there, and how does one run?

use anyhow::{Context as _, Result};
use cargo_metadata::{Package, Target};
use xshell::cmd;

use crate::workspace::{members, shell};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let members = members()?;
    let mut benches = members.iter().flat_map(|package: &Package| {
        let benches = package.targets.iter().filter(|target| target.is_bench());
        benches.map(move |target: &Target| (package.name.as_str(), target))
    });
    let Some((name, rest)) = arguments.split_first() else {
        println!("cargo xtask bench NAME, where NAME is one of:");
        benches.for_each(|(_, bench)| println!("  {}", bench.name));
        return Ok(());
    };
    let found = benches.find(|(_, bench)| bench.name == *name);
    let (package, bench) =
        found.with_context(|| format!("no bench `{name}`; `cargo xtask bench` lists them"))?;
    let shell = shell()?;
    let command = cmd!(shell, "cargo bench --package {package} --bench {name} --features");
    Ok(command.arg(bench.required_features.join(",")).arg("--").args(rest).run()?)
}
