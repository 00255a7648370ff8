//! The build of the CUDA driver that a process uses.

#[cfg(any(test, feature = "cuda"))]
mod find;

use std::fmt;
#[cfg(feature = "cuda")]
use std::path::Path;

use ptx_key::Digest;

/// One build of a driver's version: `cuDriverGetVersion` returns 13000 for 580.65.06 and 580.95.05
/// alike, and each assembles with its own compiler.
///
/// `CustDriver` uses the first of these that it finds:
///
/// 1. the name of the `libcuda` that this process has mapped, such as `libcuda.so.580.95.05`,
///    with that of the PTX compiler beside it. This is right in containers, which mount the files
///    under these names, and with the forward compatibility package, whose `libcuda` has another
///    version than the kernel module;
/// 2. where such a name contains no version, the SHA-256 of the file, which takes tens of
///    milliseconds;
/// 3. where the mapped file is unknown or was replaced, the text of `/proc/driver/nvidia/version`.
///
/// Without any of them the build is unknown, and no store keeps the driver's cubins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverBuild(String);

impl DriverBuild {
    /// A build with a name that no other build has.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The digest of the name, for keys.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_bytes(self.0.as_bytes())
    }

    /// The build that this process uses. Start the driver first.
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
