//! What does the demo request? Reference kernels under several configurations, or the files of a
//! directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ptx_cuda::Ptx;
use ptx_ir::reference::{self, Reference};
use ptx_key::{
    Configuration, Contract, Digest, DispatchPolicy, Feature, FeatureFlags, Identity, KeyBuilder,
    KeyTrace, Lanes, PtxIsa, Target,
};

use crate::output;

/// One request: its name in the table, its key, and what is lowered.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) features: &'static str,
    pub(crate) configuration: Configuration,
    pub(crate) trace: KeyTrace,
    pub(crate) source: Source,
}

/// What is lowered.
pub(crate) enum Source {
    Kernel(Box<Reference>),
    File(PathBuf),
}

/// A file that stands for a program. Its content is its identity.
struct Content(Digest);

impl Identity for Content {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.record("file", |lanes| lanes.digest(&self.0));
    }
}

impl Program {
    /// Lowers the kernel, or reads the file that stands for the lowering's output.
    pub(crate) fn lower(&self) -> anyhow::Result<String> {
        match &self.source {
            Source::Kernel(reference) => Ok(ptx_ir::lower(&reference.kernel, &self.configuration)?),
            Source::File(path) => read_ptx(path).map(|ptx| ptx.text().to_string()),
        }
    }
}

fn configuration(name: &str, version: u32, target: Target, isa: PtxIsa) -> Configuration {
    Configuration {
        contract: Contract::new(name, version),
        target,
        isa,
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::default(),
        toolchain: None,
    }
}

/// Every reference kernel for each target, with all features of the target and with as few as
/// possible.
pub(crate) fn reference_programs(targets: &[Target]) -> anyhow::Result<Vec<Program>> {
    let targets = match targets {
        [] => ["sm_75", "sm_90", "sm_90a", "sm_120"]
            .map(str::parse)
            .into_iter()
            .collect::<Result<_, _>>()?,
        chosen => chosen.to_vec(),
    };
    let mut programs = Vec::new();
    for reference in reference::all()? {
        for target in &targets {
            // Asynchronous copies and brain floats need PTX ISA 7.0.
            let isa = ptx_ir::oldest_isa(*target)?.max(PtxIsa::new(7, 0));
            for (features, flags) in [("few", few()), ("many", many(*target))] {
                let base = configuration("ptx-ir", ptx_ir::CONTRACT_VERSION, *target, isa);
                let configuration = Configuration { features: flags, ..base };
                programs.push(Program {
                    name: reference.kernel.name.clone(),
                    features,
                    trace: KeyBuilder::new(&configuration)?.trace(&reference.kernel),
                    configuration,
                    source: Source::Kernel(Box::new(reference.clone())),
                });
            }
        }
    }
    Ok(programs)
}

/// The features that every reference kernel needs.
fn few() -> FeatureFlags {
    FeatureFlags::of([Feature::F16])
}

fn many(target: Target) -> FeatureFlags {
    let mut features = few();
    features.known.extend([Feature::SubgroupOps, Feature::PersistentThread]);
    features.known.extend((target.number >= 80).then_some(Feature::AsyncCompute));
    features
}

/// Every `.ptx` file of a directory, and every link to one. Says what else it skips.
pub(crate) fn files(directory: &Path) -> anyhow::Result<Vec<Program>> {
    let unreadable = || format!("cannot read the corpus directory `{}`", directory.display());
    let entries = fs::read_dir(directory).with_context(unreadable)?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(unreadable)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.retain(|path| is_file(path));
    paths.sort();
    if paths.is_empty() {
        bail!(
            "the corpus directory `{}` has no .ptx file; unpack the archive first, with \
             tar -xJf ptx.tar.xz -C DIR",
            directory.display()
        );
    }
    paths.into_iter().map(file).collect()
}

/// Returns false for what has a file's name and is none. Opening a fifo waits for its writer, and a
/// device may never end.
fn is_file(path: &Path) -> bool {
    let why = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => return true,
        Ok(_) => "it is not a regular file".to_owned(),
        Err(error) => error.to_string(),
    };
    output::tell(format_args!("skips `{}`: {why}", path.display()));
    false
}

fn file(path: PathBuf) -> anyhow::Result<Program> {
    let ptx = read_ptx(&path)?;
    let header = ptx.header();
    let configuration = configuration("corpus", 1, header.target, header.isa);
    let program = Content(Digest::of_bytes(ptx.text().as_bytes()));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = ptx.kernels().next().unwrap_or(&stem).chars().take(40).collect();
    Ok(Program {
        name,
        features: "",
        trace: KeyBuilder::new(&configuration)?.trace(&program),
        configuration,
        source: Source::File(path),
    })
}

fn read_ptx(path: &Path) -> anyhow::Result<Ptx> {
    let named =
        || format!("`{}` is not PTX text; take it out of the corpus directory", path.display());
    let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let text = String::from_utf8(bytes).with_context(named)?;
    Ptx::new(text).with_context(named)
}
