//! How does machine code get into the store before a program needs it?

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use ptx_cuda::{Ptx, Ptxas, WarmProgress, Warmed};
use ptx_disk::{DiskStore, EntryKey};
use ptx_key::{ComputeCapability, JitOptions, PtxKey, Target};

use crate::{format, output, store};

/// How many failures are printed for one device.
const SHOWN: usize = 10;

/// For which architectures to assemble, and with which assembler.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Assembly {
    /// Assembles for this architecture, such as `sm_90`; may be given several times or as a list.
    /// Without it the driver assembles for the first GPU of this machine.
    #[arg(long = "for", value_name = "ARCH", value_delimiter = ',')]
    architectures: Vec<Target>,
    /// The assembler; by default what `PTXAS` names, or `ptxas` on the `PATH`.
    #[arg(long, value_name = "FILE", requires = "architectures")]
    ptxas: Option<PathBuf>,
    /// Threads; by default as many as the machine has cores.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

pub(crate) fn run(
    out: &mut dyn Write,
    assembly: &Assembly,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let store = store::create_writable(directory)?;
    if assembly.architectures.is_empty() {
        return on_this_machine(out, assembly, store);
    }
    let ptxas = Ptxas::new(&assembler(assembly.ptxas.as_deref())?)?;
    writeln!(out, "ptxas {}, fingerprint {}", ptxas.release(), ptxas.fingerprint())?;
    let mut failed = 0;
    for architecture in &assembly.architectures {
        let number = architecture.number;
        let device = ComputeCapability { major: number / 10, minor: number % 10 };
        let jit = ptxas.jit(device, JitOptions::default());
        let (texts, elsewhere) = texts(&store, device)?;
        let wanted = texts.iter().map(|key| (jit.key_of_lowering(key), || text(&store, *key)));
        let bar = progress::bar(texts.len());
        let warmed = ptxas.warm(&store, &jit, wanted, assembly.threads, |step| bar.step(step));
        bar.end();
        failed += report(out, &format!("sm_{number}"), &warmed, elsewhere)?;
    }
    ensure!(failed == 0, "{failed} texts have no cubin");
    Ok(())
}

/// The assembler that the caller named, or the one of the environment.
fn assembler(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let variable = std::env::var_os("PTXAS").filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or(variable) {
        return Ok(path);
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&paths).map(|directory| directory.join("ptxas"));
    found.find(|path| path.is_file()).context(
        "no ptxas on the PATH: name one with --ptxas, such as that of the PyPI package \
         nvidia-cuda-nvcc",
    )
}

/// The keys of the stored texts that a device runs, and the number of the others.
fn texts(store: &DiskStore, device: ComputeCapability) -> anyhow::Result<(Vec<PtxKey>, u64)> {
    let (mut texts, mut elsewhere) = (Vec::new(), 0);
    for key in store.keys()? {
        let EntryKey::Ptx(key) = key else { continue };
        match text(store, key) {
            Ok(ptx) if !ptx.header().runs_on(device) => elsewhere += 1,
            // The assembly reports a text that cannot be read.
            _ => texts.push(key),
        }
    }
    Ok((texts, elsewhere))
}

fn text(store: &DiskStore, key: PtxKey) -> anyhow::Result<Ptx> {
    let artifact = store::load(store, &key)?;
    Ok(Ptx::of(&artifact.with_context(|| format!("the text of {key} is gone"))?)?)
}

/// Prints the result for a device. Returns how many texts have no cubin.
fn report(out: &mut dyn Write, device: &str, warmed: &Warmed, elsewhere: u64) -> io::Result<usize> {
    writeln!(
        out,
        "{device}: {} assembled, {} there already, {} failed, {elsewhere} for other devices",
        warmed.computed,
        warmed.already_there,
        warmed.failures.len()
    )?;
    for (key, error) in warmed.failures.iter().take(SHOWN) {
        let error = anyhow::Error::new(error.clone());
        output::tell(format_args!("{}: {error:#}", format::short(key)));
    }
    Ok(warmed.failures.len())
}

#[cfg(feature = "cuda")]
fn on_this_machine(
    out: &mut dyn Write,
    assembly: &Assembly,
    store: DiskStore,
) -> anyhow::Result<()> {
    use std::sync::Arc;

    use ptx_cuda::{Config, Context, CustDriver, ModuleCache, Store};
    use ptx_key::ModuleKey;

    let context = Context::primary(&CustDriver::new()?, 0)?;
    let device = context.device();
    let store = Arc::new(store);
    let cubins: Arc<dyn Store<ModuleKey>> = Arc::<DiskStore>::clone(&store);
    let modules = ModuleCache::new(Config::default()).with_cubins(cubins);
    let (texts, elsewhere) = texts(&store, device.compute_capability)?;
    let wanted = texts.iter().map(|key| (context.module_key(key), || text(&store, *key)));
    let bar = progress::bar(texts.len());
    let warmed = modules.warm(&context, wanted, assembly.threads, |step| bar.step(step));
    bar.end();
    let failed = report(out, &device.name, &warmed, elsewhere)?;
    // The next process needs stored cubins.
    let lost = (warmed.computed as u64).saturating_sub(modules.snapshot().cubins.written);
    ensure!(failed == 0 && lost == 0, "{failed} texts have no module, {lost} have no stored cubin");
    ensure!(store.is_writable(), "the store could not write in the end: see the warnings");
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn on_this_machine(_: &mut dyn Write, _: &Assembly, _: DiskStore) -> anyhow::Result<()> {
    anyhow::bail!(
        "name the architectures to assemble for, such as --for sm_90: this ptx uses no GPU"
    )
}

/// A progress bar on the terminal.
#[cfg(feature = "progress")]
mod progress {
    use super::WarmProgress;
    use crate::format;

    pub(super) struct Bar(indicatif::ProgressBar);

    pub(super) fn bar(total: usize) -> Bar {
        Bar(indicatif::ProgressBar::new(total as u64))
    }

    impl Bar {
        pub(super) fn step(&self, step: &WarmProgress<'_>) {
            self.0.set_message(format::short(step.key));
            self.0.inc(1);
        }

        pub(super) fn end(self) {
            self.0.finish_and_clear();
        }
    }
}

#[cfg(not(feature = "progress"))]
mod progress {
    use super::WarmProgress;

    pub(super) struct Bar;

    pub(super) fn bar(_: usize) -> Bar {
        Bar
    }

    #[expect(clippy::unused_self, reason = "the bar of the feature has a state")]
    impl Bar {
        pub(super) fn step(&self, _: &WarmProgress<'_>) {}

        pub(super) fn end(self) {}
    }
}
