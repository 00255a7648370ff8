//! Assembly with the `ptxas` tool, on machines with or without a GPU.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use ptx_key::{
    Assembler, ComputeCapability, Digest, JitConfiguration, JitOptions, Target, Toolchain,
};

use crate::refused::Asked;
use crate::{Assembled, Cubin, CudaError, JitLog, Ptx, Refused, jit_options};

/// An offline assembler: `ptxas` of a CUDA toolkit, or of the package
/// `nvidia-cuda-nvcc` on pypi.org.
///
/// It is what its own bytes are: an upgrade is another [`jit`](Self::jit) configuration, and so
/// another key for every module.
///
/// Options that [`JitOptions`] has no field for go by their long name without dashes: `fmad`
/// with `false`. A flag that takes no value, such as `warn-on-spills`, goes with an empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    path: PathBuf,
    fingerprint: Digest,
    release: String,
}

impl Ptxas {
    /// Takes the tool at `path`, reads it whole for its digest, and asks it for its version.
    ///
    /// # Errors
    ///
    /// [`CudaError::Tool`] where it cannot be read or run, or is not `ptxas`.
    pub fn new(path: &Path) -> Result<Self, CudaError> {
        let unusable = |error: io::Error| tool_error(path, error);
        // It is run in another folder.
        let path = path.canonicalize().map_err(unusable)?;
        let fingerprint = Toolchain::fingerprint(&path)
            .map_err(|error| unusable(io::Error::other(error.to_string())))?;
        let output = Command::new(&path).arg("--version").output().map_err(unusable)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let release = said.split_once("release ").and_then(|(_, behind)| behind.split_once(','));
        let Some((release, _)) = release.filter(|_| said.contains("Ptx")) else {
            return Err(unusable(io::Error::other("it does not say that it is ptxas")));
        };
        Ok(Self { path, fingerprint, release: release.to_owned() })
    }

    /// The digest of the tool itself.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// The release that it says it is, such as `13.5`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What decides, beside the text, which machine code it makes: for keys.
    pub fn jit(&self, device: ComputeCapability, options: JitOptions) -> JitConfiguration {
        let assembler = Assembler::Tool { fingerprint: self.fingerprint };
        JitConfiguration { compute_capability: device, assembler, options }
    }

    /// Assembles a text for a device.
    ///
    /// # Errors
    ///
    /// [`CudaError::Refused`] where the tool refuses the text; [`CudaError::UnsupportedOption`];
    /// [`CudaError::Tool`] where it cannot be run or its files not be written.
    pub fn assemble(
        &self,
        ptx: &Ptx,
        device: ComputeCapability,
        options: &JitOptions,
    ) -> Result<Assembled, CudaError> {
        const TEXT: &str = "module.ptx";
        const IMAGE: &str = "module.cubin";
        let unusable = |error: io::Error| tool_error(&self.path, error);
        let arguments = jit_options::arguments(options)?;
        let _span = tracing::debug_span!("assembly", ptxas = %self.release).entered();
        let folder = tempfile::tempdir().map_err(unusable)?;
        std::fs::write(folder.path().join(TEXT), ptx.text().as_bytes()).map_err(unusable)?;
        let output = Command::new(&self.path)
            .current_dir(folder.path())
            .arg(format!("--gpu-name={}", architecture(ptx, device)))
            .args(arguments)
            .args(["--output-file", IMAGE, TEXT])
            .output()
            .map_err(unusable)?;
        let log = log_of(&output);
        if !output.status.success() {
            let asked =
                Asked { assembler: format!("ptxas {}", self.release), device, latest_isa: None };
            return Err(Refused::ptx(asked, None, log, ptx).into());
        }
        let image = std::fs::read(folder.path().join(IMAGE)).map_err(unusable)?;
        Ok(Assembled { cubin: Cubin::new(image)?, log })
    }
}

/// The device's architecture, with the letter of the text's target: `ptxas` takes code for
/// `sm_90a` only when asked for `sm_90a`.
fn architecture(ptx: &Ptx, device: ComputeCapability) -> Target {
    let number = device.major.saturating_mul(10).saturating_add(device.minor);
    Target::new(number, ptx.header().target.variant())
}

fn log_of(output: &Output) -> JitLog {
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    if text.trim().is_empty() && !output.status.success() {
        text = format!("ptxas fatal   : ended with {}", output.status);
    }
    JitLog::new(text)
}

fn tool_error(path: &Path, source: io::Error) -> CudaError {
    CudaError::Tool { path: path.to_owned(), source: Arc::new(source) }
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests {
    use std::sync::{Mutex, PoisonError};

    /// Where a script is open for writing, in a process that another thread starts, it cannot be
    /// run: so one test at a time has one.
    static SCRIPTS: Mutex<()> = Mutex::new(());

    /// A tool that says it is `ptxas` and assembles nothing, without a word. It is there as long as
    /// what comes with it.
    pub(crate) fn mute() -> (super::Ptxas, impl Drop) {
        use std::os::unix::fs::PermissionsExt as _;

        let only = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ptxas");
        let script =
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Ptx assembler, release 13.5, V13.5.1'\n";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let ptxas = super::Ptxas::new(&path).unwrap();
        (ptxas, scopeguard::guard((folder, only), drop))
    }
}
