//! Result codes and versions of the CUDA driver.

use std::fmt;

use ptx_key::PtxIsa;

/// A result code of the CUDA driver (`CUresult`), known to this release or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverCode(pub u32);

macro_rules! codes {
    ($($name:ident = $value:literal, $cure:literal;)*) => {
        impl DriverCode {
            $(
                #[doc = concat!("`CUDA_ERROR_", stringify!($name), "`.")]
                pub const $name: Self = Self($value);
            )*

            /// The driver's name of the code.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(concat!("CUDA_ERROR_", stringify!($name))),)*
                    _ => None,
                }
            }

            /// What the user can do.
            pub fn cure(self) -> &'static str {
                match self {
                    $(Self::$name => $cure,)*
                    _ => "look the code up under CUresult in the CUDA driver API reference",
                }
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, "an argument or option is out of the range that this driver takes: \
        see what the call's documentation allows";
    OUT_OF_MEMORY = 2, "unload modules or free device memory, or lower the cache's byte budget";
    NOT_INITIALIZED = 3, "create a driver object before other calls";
    DEINITIALIZED = 4, "the process is ending and the driver is gone: \
        drop modules earlier";
    STUB_LIBRARY = 34, "the link stub was loaded in place of the driver: \
        let the program find the libcuda.so.1 that the driver installed";
    NO_DEVICE = 100, "no CUDA device is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES";
    INVALID_DEVICE = 101, "there is no device of this number: see nvidia-smi -L";
    INVALID_IMAGE = 200, "the image is damaged or of a kind that this driver does not know: \
        remove it and assemble again";
    INVALID_CONTEXT = 201, "the context is not one of this process, or is gone: create a new one";
    NO_BINARY_FOR_GPU = 209, "the image holds no code for this device: \
        assemble or lower for its compute capability";
    INVALID_PTX = 218, "the PTX is wrong: fix the lowering at the line that the log names";
    JIT_COMPILER_NOT_FOUND = 221, "the driver's PTX compiler (libnvidia-ptxjitcompiler) is not \
        installed: install it, or assemble offline with ptxas and load the cubin";
    UNSUPPORTED_PTX_VERSION = 222, "the PTX ISA is later than this driver's: \
        update the driver, lower for an earlier ISA, or assemble offline with a newer ptxas";
    JIT_COMPILATION_DISABLED = 223, "PTX compilation is switched off (CUDA_DISABLE_PTX_JIT): \
        switch it on, or assemble offline with ptxas and load the cubin";
    INVALID_SOURCE = 300, "the driver does not compile this kind of image: \
        give it PTX text or a cubin";
    FILE_NOT_FOUND = 301, "a file that the driver needs was not found: \
        reinstall the driver with its PTX compiler";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "a library of the driver lacks a symbol: \
        its parts are of different versions, reinstall it";
    SHARED_OBJECT_INIT_FAILED = 303, "a library of the driver did not start: reinstall it";
    OPERATING_SYSTEM = 304, "the operating system refused a call of the driver: \
        see the kernel's log and the limits on memory and open files";
    INVALID_HANDLE = 400, "a handle belongs to another context, or was released: \
        look it up again in the context's module";
    NOT_FOUND = 500, "no symbol of this name: see which ones the text defines";
    ILLEGAL_ADDRESS = 700, "a kernel accessed memory that it must not, and its context is lost: \
        find the access with compute-sanitizer";
    LAUNCH_OUT_OF_RESOURCES = 701, "the kernel needs more registers, threads or shared memory \
        than a block may have: launch smaller blocks";
    CONTEXT_IS_DESTROYED = 709, "the context is gone: create a new one";
    MISALIGNED_ADDRESS = 716, "a kernel used an address that is not aligned, and its context is \
        lost: find the access with compute-sanitizer";
    LAUNCH_FAILED = 719, "a kernel failed on the device, and its context is lost: \
        find the cause with compute-sanitizer";
    NOT_SUPPORTED = 801, "this driver or device cannot do it: update the driver";
    SYSTEM_NOT_READY = 802, "the system is not ready for CUDA: see whether the driver's services \
        run";
    SYSTEM_DRIVER_MISMATCH = 803, "the driver's library and kernel module are of different \
        versions: reload the kernel module, or restart";
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "the forward compatibility library does not support \
        this device: use the library that the driver installed";
    UNKNOWN = 999, "the driver does not say why: see the kernel's log";
}

impl DriverCode {
    /// Returns true if the cause may be the image, the options, or the driver's state.
    pub(crate) fn is_vague(self) -> bool {
        matches!(self, Self::INVALID_VALUE | Self::NOT_SUPPORTED | Self::UNKNOWN)
            || self.name().is_none()
    }

    /// Returns true if the context is gone, and with it every module in it.
    pub(crate) fn context_is_gone(self) -> bool {
        matches!(self, Self::DEINITIALIZED | Self::INVALID_CONTEXT | Self::CONTEXT_IS_DESTROYED)
    }
}

impl fmt::Display for DriverCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name}, code {}", self.0),
            None => write!(f, "CUDA error code {}", self.0),
        }
    }
}

/// A version of the driver's interface, as `cuDriverGetVersion` returns it: 13000 for CUDA 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub u32);

impl DriverVersion {
    /// The latest PTX ISA that the driver compiles (PTX ISA, "Release Notes"), or `None` where this
    /// release does not know the version.
    pub(crate) fn latest_isa(self) -> Option<PtxIsa> {
        let (major, minor) = (self.0 / 1000, self.0 % 1000 / 10);
        let isa = match (major, minor) {
            (9, 0..=2) => (6, minor),
            (10, 0..=1) => (6, minor + 3),
            (10, 2) => (6, 5),
            (11, 0..=8) => (7, minor),
            (12, 0..=5) => (8, minor),
            (12, 6) => (8, 5),
            (12, 7..=9) => (8, minor - 1),
            (13, _) => (9, minor),
            _ => return None,
        };
        Some(PtxIsa::new(u16::try_from(isa.0).ok()?, u16::try_from(isa.1).ok()?))
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_print_with_their_name() {
        assert_eq!(DriverCode::INVALID_PTX.to_string(), "CUDA_ERROR_INVALID_PTX, code 218");
        assert_eq!(DriverCode(226).to_string(), "CUDA error code 226");
        assert!(DriverCode(226).cure().contains("CUresult"));
    }

    #[test]
    fn a_context_is_gone_by_three_codes() {
        let gone: Vec<_> = (0..1000).filter(|code| DriverCode(*code).context_is_gone()).collect();
        assert_eq!(gone, [4, 201, 709]);
    }

    #[test]
    fn driver_versions_know_their_latest_isa() {
        for (version, isa) in [
            (9020, Some("6.2")),
            (10010, Some("6.4")),
            (11080, Some("7.8")),
            (12040, Some("8.4")),
            (12060, Some("8.5")),
            (12090, Some("8.8")),
            (13000, Some("9.0")),
            (14000, None),
        ] {
            let latest = DriverVersion(version).latest_isa().map(|isa| isa.to_string());
            assert_eq!(latest.as_deref(), isa, "{version}");
        }
        assert_eq!(DriverVersion(12090).to_string(), "12.9");
    }
}
