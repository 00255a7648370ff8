//! Which build of the CUDA driver a process uses.

#[cfg(any(test, feature = "cuda"))]
mod find;

use std::fmt;
#[cfg(feature = "cuda")]
use std::path::Path;

use ptx_key::Digest;

/// What tells a build of a driver from others of the same version: `cuDriverGetVersion` says
/// 13000 for 580.65.06 and 580.95.05 alike, and each assembles with its own compiler.
///
/// `CustDriver` takes, in this order:
///
/// 1. the name of the `libcuda` that this process has mapped, such as `libcuda.so.580.95.05`,
///    with that of the PTX compiler beside it. That holds in containers, which mount the files
///    under these names, and with the forward compatibility package, whose `libcuda` is not of
///    the kernel module's version;
/// 2. where such a name holds no version, SHA-256 of the file, which takes tens of milliseconds;
/// 3. where the mapped file cannot be told, or was replaced since, what
///    `/proc/driver/nvidia/version` says.
///
/// Without any of them the build is not known, and cubins of the driver are not kept on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverBuild(String);

impl DriverBuild {
    /// A build by any name that no other build has.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// What stands for it in keys.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(self.0.as_bytes())
    }

    /// The build that this process uses. The driver must have been started.
    #[cfg(feature = "cuda")]
    pub(crate) fn find() -> Option<Self> {
        find::find_in(Path::new("/proc")).map(Self)
    }
}

impl fmt::Display for DriverBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
