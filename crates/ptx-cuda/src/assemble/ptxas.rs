//! Assembly with the `ptxas` tool, on machines with or without a GPU.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use ptx_key::{Assembler, ComputeCapability, Digest, JitConfiguration, JitOptions, Target};

use super::cubin::Cubin;
use super::explain::{Asked, refused_ptx};
use super::log::JitLog;
use super::options::arguments;
use super::ptx::Ptx;
use crate::{Assembled, CudaError};

/// An offline assembler: `ptxas` of a CUDA toolkit, or of the package
/// `nvidia-cuda-nvcc` on pypi.org.
///
/// Its identity is the digest of its file: an upgrade makes another [`jit`](Self::jit)
/// configuration, and so another key for every module. Name the tool itself: the digest of a
/// wrapper script does not cover the tool that it calls.
///
/// Give options that [`JitOptions`] has no field for by their long name without dashes: `fmad` with
/// `false`. Give a flag that takes no value, such as `warn-on-spills`, with an empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    path: PathBuf,
    fingerprint: Digest,
    /// The stamp of the file when its digest was computed.
    stamp: Stamp,
    release: String,
}

/// A file's length in bytes and when it was written. Both tell a replaced tool without reading it.
type Stamp = (u64, SystemTime);

fn stamp(path: &Path) -> io::Result<Stamp> {
    let about = path.metadata()?;
    Ok((about.len(), about.modified()?))
}

impl Ptxas {
    /// Reads the tool at `path` for its digest, and runs it for its version.
    ///
    /// # Errors
    ///
    /// [`CudaError::Tool`] where it cannot be read or run, or is not `ptxas`.
    pub fn new(path: &Path) -> Result<Self, CudaError> {
        let unusable = |error: io::Error| CudaError::of_tool(path, error);
        // It runs in another directory.
        let path = path.canonicalize().map_err(unusable)?;
        let stamp = stamp(&path).map_err(unusable)?;
        let fingerprint =
            Digest::of_file(&path).map_err(|error| CudaError::of_tool(&path, error))?;
        let output = Command::new(&path).arg("--version").output().map_err(unusable)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let release = said.split_once("release ").and_then(|(_, behind)| behind.split_once(','));
        let Some((release, _)) = release.filter(|_| said.contains("Ptx")) else {
            return Err(CudaError::of_tool(&path, "it does not say that it is ptxas"));
        };
        Ok(Self { path, fingerprint, stamp, release: release.to_owned() })
    }

    /// The digest of the tool.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// The tool's release, such as `13.5`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What decides, besides the text, which machine code it makes: for keys.
    pub fn jit(&self, device: ComputeCapability, options: JitOptions) -> JitConfiguration {
        let assembler = Assembler::Tool { fingerprint: self.fingerprint };
        JitConfiguration { compute_capability: device, assembler, options }
    }

    /// Assembles a text for a device. There is no time limit.
    ///
    /// # Errors
    ///
    /// [`CudaError::Refused`] where the tool refuses the text, or is killed;
    /// [`CudaError::UnsupportedOption`]; [`CudaError::Tool`] where it cannot be run or leaves no
    /// cubin; [`CudaError::ToolReplaced`]; [`CudaError::Scratch`] where its files cannot be
    /// written.
    pub fn assemble(
        &self,
        ptx: &Ptx,
        device: ComputeCapability,
        options: &JitOptions,
    ) -> Result<Assembled, CudaError> {
        const TEXT: &str = "module.ptx";
        const IMAGE: &str = "module.cubin";
        let unusable = |error: io::Error| CudaError::of_tool(&self.path, error);
        let arguments = arguments(options)?;
        let _span = tracing::debug_span!("assembly", ptxas = %self.release).entered();
        let directory = tempfile::tempdir().map_err(CudaError::of_scratch)?;
        let at = |name| directory.path().join(name);
        std::fs::write(at(TEXT), ptx.text().as_bytes()).map_err(CudaError::of_scratch)?;
        let output = Command::new(&self.path)
            .current_dir(directory.path())
            .arg(format!("--gpu-name={}", architecture(ptx, device)))
            .args(arguments)
            .args(["--output-file", IMAGE, TEXT])
            .output()
            .map_err(unusable)?;
        // Checked after the run: a replacement at any time before shows.
        if stamp(&self.path).map_err(unusable)? != self.stamp {
            return Err(CudaError::ToolReplaced { path: self.path.clone() });
        }
        let log = log_of(&output);
        if !output.status.success() {
            let asked =
                Asked { assembler: format!("ptxas {}", self.release), device, latest_isa: None };
            return Err(refused_ptx(asked, None, log, ptx).into());
        }
        let no_cubin = |reason: String| {
            CudaError::of_tool(&self.path, format!("it ended well, but left no cubin: {reason}"))
        };
        let image = std::fs::read(at(IMAGE)).map_err(|error| no_cubin(error.to_string()))?;
        match Cubin::new(image) {
            Ok(cubin) => Ok(Assembled { cubin, log }),
            Err(CudaError::NotCubin { reason }) => Err(no_cubin(reason)),
            Err(error) => Err(error),
        }
    }
}

/// The device's architecture, with the letter of the text's target: `ptxas` takes code for
/// `sm_90a` only when asked for `sm_90a`.
fn architecture(ptx: &Ptx, device: ComputeCapability) -> Target {
    let number = device.major.saturating_mul(10).saturating_add(device.minor);
    Target { number, variant: ptx.header().target.variant }
}

fn log_of(output: &Output) -> JitLog {
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    let log = JitLog::new(text);
    if output.status.success() || log.first_error().is_some() {
        return log;
    }
    log.followed_by(&JitLog::new(format!("ptxas fatal   : ended with {}", output.status)))
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests;
